/**
 * Lets WebAssembly ask for at most 256 MB.
 *
 * onnxruntime-web's build reserves the largest memory there can be, 4 GiB, and phones refuse it: iOS answers
 * `RangeError: Out of memory` for any model (onnxruntime issue 22086). A lower maximum is legal, and training small
 * models takes a quarter of this one. Import it before the runtime.
 */
const MOST_PAGES = 4096;
const { Memory } = WebAssembly;

WebAssembly.Memory = class extends Memory {
  constructor(descriptor: WebAssembly.MemoryDescriptor) {
    const { maximum } = descriptor;
    super(maximum === undefined ? descriptor : { ...descriptor, maximum: Math.min(maximum, MOST_PAGES) });
  }
};
