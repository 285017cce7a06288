//! New rows of the runs that a page watches, as server-sent events.

use crate::catalogue::Catalogue;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde_json::json;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// How often files are read; a new row is on the page well within two seconds.
const INTERVAL: Duration = Duration::from_millis(700);

struct Watch {
    catalogue: Arc<Catalogue>,
    reads: Arc<Semaphore>,
    /// Bytes that were read of each run.
    read: BTreeMap<String, u64>,
    /// The list of runs as it was last sent.
    list: String,
    first: bool,
}

/// Sends the list of runs whenever it changes, and new rows of the runs in `watched` (with the bytes that the
/// page has already).
pub(crate) fn live(
    catalogue: Arc<Catalogue>,
    reads: Arc<Semaphore>,
    watched: BTreeMap<String, u64>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let watch = Watch { catalogue, reads, read: watched, list: String::new(), first: true };
    let events = stream::unfold(watch, |mut watch| async move {
        loop {
            if !watch.first {
                tokio::time::sleep(INTERVAL).await;
            }
            watch.first = false;
            let turn = watch.reads.clone().acquire_owned().await.ok()?;
            // Reading files blocks, so it has a thread of its own.
            let (next, event) = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                let event = watch.poll();
                (watch, event)
            })
            .await
            .ok()?;
            watch = next;
            if let Some(event) = event {
                return Some((Ok(event), watch));
            }
        }
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

impl Watch {
    fn poll(&mut self) -> Option<Event> {
        let mut rows = serde_json::Map::new();
        for (id, read) in &mut self.read {
            let Some(found) = self.catalogue.rows(id, *read).filter(|found| found.read != *read) else {
                continue;
            };
            *read = found.read;
            rows.insert(id.clone(), json!(found));
        }
        let list = json!(self.catalogue.list()).to_string();
        let changed = list != self.list;
        if rows.is_empty() && !changed {
            return None;
        }
        let mut event = json!({ "rows": rows });
        if changed {
            event["runs"] = serde_json::from_str(&list).unwrap_or_default();
            self.list = list;
        }
        Event::default().json_data(event).ok()
    }
}
