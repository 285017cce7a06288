//! The page, inside the program.

pub(crate) struct Asset {
    pub path: &'static str,
    pub kind: &'static str,
    pub bytes: &'static [u8],
}

macro_rules! assets {
    ($($path:literal $file:literal $kind:literal),* $(,)?) => {
        pub(crate) const ALL: &[Asset] =
            &[$(Asset { path: $path, kind: $kind, bytes: include_bytes!(concat!("../assets/", $file)) }),*];
    };
}

assets! {
    "/" "index.html" "text/html; charset=utf-8",
    "/style.css" "style.css" "text/css; charset=utf-8",
    "/api.js" "api.js" "text/javascript; charset=utf-8",
    "/app.js" "app.js" "text/javascript; charset=utf-8",
    "/carpet.js" "carpet.js" "text/javascript; charset=utf-8",
    "/chances.js" "chances.js" "text/javascript; charset=utf-8",
    "/chart.js" "chart.js" "text/javascript; charset=utf-8",
    "/circle.js" "circle.js" "text/javascript; charset=utf-8",
    "/colour.js" "colour.js" "text/javascript; charset=utf-8",
    "/coupling.js" "coupling.js" "text/javascript; charset=utf-8",
    "/dom.js" "dom.js" "text/javascript; charset=utf-8",
    "/drift.js" "drift.js" "text/javascript; charset=utf-8",
    "/inside.js" "inside.js" "text/javascript; charset=utf-8",
    "/key.js" "key.js" "text/javascript; charset=utf-8",
    "/order.js" "order.js" "text/javascript; charset=utf-8",
    "/pulls.js" "pulls.js" "text/javascript; charset=utf-8",
    "/runs.js" "runs.js" "text/javascript; charset=utf-8",
    "/safetensors.js" "safetensors.js" "text/javascript; charset=utf-8",
    "/text.js" "text.js" "text/javascript; charset=utf-8",
    "/touch.js" "touch.js" "text/javascript; charset=utf-8",
    "/write.js" "write.js" "text/javascript; charset=utf-8",
}
