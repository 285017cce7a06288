// Which panels are in view, with a margin so that scrolling finds them drawn.

export function visible(onMore) {
  const parts = new Map();
  const seen = new Set();
  const observer = new IntersectionObserver((entries) => {
    let more = false;
    for (const { target, isIntersecting } of entries) {
      const part = parts.get(target);
      more ||= isIntersecting && !seen.has(part);
      if (isIntersecting) seen.add(part);
      else seen.delete(part);
    }
    if (more) onMore();
  }, { rootMargin: "100px" });
  return {
    watch(node, part) {
      parts.set(node, part);
      observer.observe(node);
    },
    all: () => [...seen],
  };
}
