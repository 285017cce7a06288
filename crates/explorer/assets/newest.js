// One task at a time, about what is on the page when it begins: who types faster than the model answers sees the newest text
// next, and what came between is never asked.

// `task(isOld)`; `isOld()` is true once something newer waits. What is returned asks for it to be done, again if it is under way.
export function newest(task) {
  let running = false;
  let again = false;
  return async () => {
    again = true;
    if (running) return;
    running = true;
    try {
      while (again) {
        again = false;
        await task(() => again);
      }
    } finally {
      // Even if something fails, the next key is answered.
      running = false;
    }
  };
}
