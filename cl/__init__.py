"""The OpenCL sources, installed as ``pysw_cl.cl``; :func:`pysw_cl.folders.kernel_source`
reads them."""
