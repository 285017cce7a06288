// A model's forward pass on the reader's own graphics card: runs the plan that `kuramoto site` writes beside the weights
// (crates/gpu/src/webgpu.rs). Kernels, buffers and the order of launches are the program's own.

// The card, or nothing where the browser has none; a program that pretends to be one is slower than WebAssembly, and is
// only taken where `any` is.
export async function open(any) {
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" }).catch(() => null);
  if (!adapter || (adapter.info?.isFallbackAdapter && !any)) return null;
  return adapter.requestDevice().catch(() => null);
}

export class Pass {
  turn = Promise.resolve();

  // `weights` are arrays by name.
  static async of(device, plan, weights) {
    const pass = Object.assign(new Pass(), { device, plan });
    device.pushErrorScope("validation");
    device.pushErrorScope("out-of-memory");
    const thrown = await pass.make(weights).catch((error) => error);
    const errors = [thrown, await device.popErrorScope(), await device.popErrorScope()].filter(Boolean);
    if (!errors.length) return pass;
    pass.destroy();
    throw new Error(errors[0].message);
  }

  async make(weights) {
    const { device, plan } = this;
    const { STORAGE, UNIFORM, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    this.buffers = plan.buffers.map(([elements, uniform]) =>
      device.createBuffer({ size: 4 * elements, usage: (uniform ? UNIFORM : STORAGE) | COPY_SRC | COPY_DST }));
    const parameters = new Float32Array(plan.buffers[plan.parameters][0]);
    for (const [name, start, length] of plan.tensors) {
      if (weights[name]?.length !== length) throw new Error(`the weights lack ${name}`);
      parameters.set(weights[name], start);
    }
    this.write(plan.parameters, parameters);
    for (const [buffer, values] of plan.constants) this.write(buffer, new Float32Array(values));
    const pipelines = await Promise.all(plan.kernels.map(([code, entryPoint]) =>
      device.createComputePipelineAsync({ layout: "auto", compute: { module: device.createShaderModule({ code }), entryPoint } })));
    this.launches = plan.launches.map(({ kernel, groups, bindings }) => ({
      pipeline: pipelines[kernel],
      groups,
      bindings: device.createBindGroup({
        layout: pipelines[kernel].getBindGroupLayout(0),
        entries: bindings.map(([binding, buffer, start, length]) =>
          ({ binding, resource: { buffer: this.buffers[buffer], offset: 4 * start, size: 4 * length } })),
      }),
    }));
    const size = this.outputs(plan.context).reduce((sum, [, , length]) => sum + 4 * length, 0);
    this.staging = device.createBuffer({ size, usage: MAP_READ | COPY_DST });
  }

  destroy() {
    for (const buffer of [...(this.buffers ?? []), this.staging]) buffer?.destroy();
  }

  write(buffer, values) {
    this.device.queue.writeBuffer(this.buffers[buffer], 0, values);
  }

  // Buffer, first element and elements of all that is read of a text of n tokens: states (L + 1 x n x k), couplings
  // (L x heads x n x context), logits (n x V).
  outputs(n) {
    const { states, couplings, logits, context, heads, width, vocab } = this.plan;
    const coupling = (buffer) => Array.from({ length: heads }, (_, head) => [buffer, head * context ** 2, n * context]);
    return [...states.map((buffer) => [buffer, 0, n * width]), ...couplings.flatMap(coupling), [logits, 0, n * vocab]];
  }

  // What a text leaves, one array after the other. Texts take turns: they share buffers.
  run(tokens) {
    const own = this.turn.then(() => this.compute(tokens));
    this.turn = own.catch(() => {});
    return own;
  }

  async compute(tokens) {
    const { device, plan } = this;
    const padded = new Uint32Array(plan.context);
    padded.set(tokens);
    this.write(plan.tokens, padded);
    const [batch, [, ...words]] = plan.batch;
    this.write(batch, new Uint32Array([tokens.length, ...words]));
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    for (const { pipeline, groups, bindings } of this.launches) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bindings);
      pass.dispatchWorkgroups(...groups);
    }
    pass.end();
    let end = 0;
    for (const [buffer, start, length] of this.outputs(tokens.length)) {
      encoder.copyBufferToBuffer(this.buffers[buffer], 4 * start, this.staging, end, 4 * length);
      end += 4 * length;
    }
    device.queue.submit([encoder.finish()]);
    await this.staging.mapAsync(GPUMapMode.READ, 0, end);
    const values = this.staging.getMappedRange(0, end).slice(0);
    this.staging.unmap();
    return values;
  }
}
