//! The server: its routes and their limits.

use crate::catalogue::Catalogue;
use crate::connections::{Limits, read_body, serve};
use crate::error::{Answer, Refusal};
use crate::guard::{Guard, guard};
use crate::live::live;
use crate::models::Models;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use kuramoto_answer::{Model, PullQuestion, Question, WriteQuestion, Writer, parse};
use kuramoto_train::generate::generate as write_after;
use kuramoto_train::{Run, Which};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tower_http::catch_panic::CatchPanicLayer;

/// What to serve, and where.
pub struct Options {
    /// Folders of runs.
    pub folders: Vec<PathBuf>,
    /// Address to listen on.
    pub address: IpAddr,
    /// 0 for any that is free.
    pub port: u16,
    /// Model runs at a time, and as many readings of files.
    pub at_a_time: usize,
    /// Of connections.
    pub limits: Limits,
}

/// How long a request waits for its turn.
const TIMEOUT: Duration = Duration::from_secs(10);

struct Shared {
    catalogue: Arc<Catalogue>,
    models: Models,
    /// For requests that run a model.
    turns: Arc<Semaphore>,
    /// For requests that only read files: a long generation must not hold up the curves.
    reads: Arc<Semaphore>,
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    router: Router,
    limits: Limits,
    link: String,
}

impl Server {
    /// Listens; serves nothing yet.
    pub async fn bind(options: &Options) -> io::Result<Server> {
        let listener = TcpListener::bind((options.address, options.port)).await?;
        let address = listener.local_addr()?;
        let token = token()?;
        // In the fragment, which browsers never send, so that it is in no log and no Referer.
        let link = format!("http://{}/#token={token}", shown(address));
        let at_a_time = || Arc::new(Semaphore::new(options.at_a_time.max(1)));
        let shared = Arc::new(Shared {
            catalogue: Arc::new(Catalogue::new(&options.folders)),
            models: Models::default(),
            turns: at_a_time(),
            reads: at_a_time(),
        });
        let limits = options.limits;
        Ok(Server { listener, router: router(shared, Guard::new(address, token), limits), limits, link })
    }

    /// The address to open, with the token.
    pub fn link(&self) -> &str {
        &self.link
    }

    /// Serves until the program ends.
    pub async fn run(self) -> io::Result<()> {
        serve(self.listener, self.router, self.limits).await
    }
}

/// An address that a browser on this machine can open.
fn shown(address: SocketAddr) -> SocketAddr {
    let local: IpAddr = [127, 0, 0, 1].into();
    if address.ip().is_unspecified() { SocketAddr::new(local, address.port()) } else { address }
}

/// 128 random bits of the system, in hexadecimal.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn router(shared: Arc<Shared>, access: Guard, limits: Limits) -> Router {
    let pages = crate::assets::ALL.iter().fold(Router::new(), |router, asset| {
        router.route(asset.path, get(|| async { ([(header::CONTENT_TYPE, asset.kind)], asset.bytes) }))
    });
    let api = Router::new()
        .route("/api/runs", get(runs))
        .route("/api/rows", get(rows))
        .route("/api/about", get(about))
        .route("/api/sample", get(sample))
        .route("/api/live", post(watch))
        .route("/api/inspect", post(inspect))
        .route("/api/pulls", post(pulls))
        .route("/api/generate", post(generate));
    pages
        .merge(api.with_state(shared))
        .fallback(|| async { Refusal::unknown("page of that name") })
        .layer(middleware::from_fn_with_state(limits, read_body))
        .layer(CatchPanicLayer::custom(|_| {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "this request failed; others are not affected")
                .into_response()
        }))
        .layer(middleware::from_fn_with_state(Arc::new(access), guard))
}

#[derive(Deserialize)]
struct Named {
    run: String,
    #[serde(default)]
    read: u64,
}

async fn runs(State(shared): State<Arc<Shared>>) -> Answer<Response> {
    let turn = turn(&shared.reads).await?;
    let list = blocking(turn, move || Ok(shared.catalogue.list())).await?;
    Ok(Json(list).into_response())
}

async fn rows(State(shared): State<Arc<Shared>>, Query(named): Query<Named>) -> Answer<Response> {
    let turn = turn(&shared.reads).await?;
    let found = blocking(turn, move || {
        shared.catalogue.rows(&named.run, named.read).ok_or_else(|| Refusal::unknown("run of that name"))
    })
    .await?;
    Ok(Json(found).into_response())
}

/// What texts a run's model reads.
async fn about(State(shared): State<Arc<Shared>>, Query(named): Query<Named>) -> Answer<Response> {
    let turn = turn(&shared.reads).await?;
    let found = blocking(turn, move || {
        let run = shared.open(&named.run)?;
        Ok(kuramoto_answer::about(run.corpus(), run.config().batch.context, run.config().model.layers()))
    })
    .await?;
    Ok(Json(found).into_response())
}

async fn sample(State(shared): State<Arc<Shared>>, Query(named): Query<Named>) -> Answer<Response> {
    let answer = move |shared: &Shared| -> Answer<String> {
        let run = shared.open(&named.run)?;
        let context = run.config().batch.context;
        Ok(kuramoto_answer::sample(run.corpus(), context, |prompt, bytes, sampling, write| {
            write_after(&run, Which::Best, prompt, bytes, sampling, write)
        })?)
    };
    Ok(Json(Shared::ask(shared, answer).await?).into_response())
}

/// Runs that one page watches at most.
const WATCHED: usize = 64;

async fn watch(State(shared): State<Arc<Shared>>, body: Bytes) -> Answer<Response> {
    let watched: BTreeMap<String, u64> = parse(&body)?;
    if watched.len() > WATCHED {
        return Err(Refusal::bad(format!("{} runs are to be watched: at most {WATCHED} are", watched.len())));
    }
    Ok(live(shared.catalogue.clone(), shared.reads.clone(), watched).into_response())
}

impl Shared {
    fn open(&self, id: &str) -> Answer<Run> {
        self.catalogue.open(id).ok_or_else(|| Refusal::unknown("run of that name"))?.map_err(Refusal::from)
    }

    /// Does something with the model that a question is for.
    fn with_model<T>(
        &self,
        question: &Question,
        work: impl FnOnce(&mut Model) -> kuramoto_answer::Result<T>,
    ) -> Answer<T> {
        self.models.with(&self.open(&question.run)?, &question.checkpoint, work)
    }

    /// Answers a request that runs a model, when it is its turn.
    async fn ask<T: Send + 'static>(
        shared: Arc<Shared>,
        answer: impl FnOnce(&Shared) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        let turn = turn(&shared.turns).await?;
        blocking(turn, move || answer(&shared)).await
    }
}

async fn turn(turns: &Arc<Semaphore>) -> Answer<OwnedSemaphorePermit> {
    let busy = || Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "too many questions at a time: try again");
    let turn = tokio::time::timeout(TIMEOUT, turns.clone().acquire_owned()).await;
    turn.map_err(|_| busy())?.map_err(|_| busy())
}

/// Runs work that computes or reads files on a thread of its own. Its turn ends when the work does, even if
/// the client has disconnected.
async fn blocking<T: Send + 'static>(
    turn: OwnedSemaphorePermit,
    work: impl FnOnce() -> Answer<T> + Send + 'static,
) -> Answer<T> {
    let work = move || {
        let _turn = turn;
        work()
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|panic| match panic.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the server is closing")),
    })
}

async fn inspect(State(shared): State<Arc<Shared>>, body: Bytes) -> Answer<Response> {
    let asked: Question = parse(&body)?;
    let answer = move |shared: &Shared| {
        shared.with_model(&asked, |model| Ok(kuramoto_answer::inspect(model, &asked)?.encode()))
    };
    let bytes = Shared::ask(shared, answer).await?;
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

async fn pulls(State(shared): State<Arc<Shared>>, body: Bytes) -> Answer<Response> {
    let asked: PullQuestion = parse(&body)?;
    let answer = move |shared: &Shared| {
        shared.with_model(&asked.question, |model| kuramoto_answer::pulls(model, &asked))
    };
    Ok(Json(Shared::ask(shared, answer).await?).into_response())
}

/// Each byte is a frame of its own; see [`kuramoto_answer::Message`].
async fn generate(State(shared): State<Arc<Shared>>, body: Bytes) -> Answer<Response> {
    let asked: WriteQuestion = parse(&body)?;
    let asked = Shared::ask(shared.clone(), move |shared| {
        shared.with_model(&asked.question, |model| Writer::new(model, &asked).map(drop))?;
        Ok(asked)
    })
    .await?;
    let turn = turn(&shared.turns).await?;
    let (sender, receiver) = mpsc::channel::<Result<Vec<u8>, io::Error>>(16);
    let handle = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || {
        let written = shared.with_model(&asked.question, |model| {
            let mut writer = Writer::new(model, &asked)?;
            while let Some(message) = writer.next(model)? {
                // A page that stops reading gives its turn to others.
                if handle.block_on(sender.send_timeout(Ok(message.frame()), TIMEOUT)).is_err() {
                    break;
                }
            }
            Ok(())
        });
        if written.is_err() {
            handle.block_on(sender.send_timeout(Err(io::Error::other("generation failed")), TIMEOUT)).ok();
        }
        drop(turn);
    });
    let stream = futures_util::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|chunk| (chunk, receiver))
    });
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], Body::from_stream(stream)).into_response())
}
