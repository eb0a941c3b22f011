"""The OpenCL sources, installed as ``pysw_cl.cl``; :func:`pysw_cl._kernels.kernel_source` reads
them."""
