"""The OpenCL sources, installed as ``pysw_cl.cl``; :func:`pysw_cl.opencl.resources.kernel_source`
reads them."""
