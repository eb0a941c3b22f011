"""Everything that knows OpenCL: device choice, quirks, program build and cache, buffers."""
