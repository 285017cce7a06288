//! The functions that the module exports.
//!
//! A request is written to the memory that [`reserve`] returns, then handed over by [`load`], [`ask`],
//! [`computed`], [`begin`] or [`next`]; each returns a status, and leaves its response at [`response`], [`response_length`]
//! bytes, until the next call: what was asked for, or a sentence on why not.

use crate::session::{Refusal, Result, Session};
use std::cell::RefCell;

/// The response is what was asked for.
pub const DONE: u32 = 0;
/// The response is a sentence.
pub const REFUSED: u32 = 1;
/// The model must be loaded first; the response is a sentence.
pub const NOT_LOADED: u32 = 2;
/// Nothing more is written.
pub const ENDED: u32 = 3;

#[derive(Default)]
struct State {
    session: Session,
    request: Vec<u8>,
    response: Vec<u8>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

fn answer(with: impl FnOnce(&mut Session, &[u8]) -> Result<Option<Vec<u8>>>) -> u32 {
    STATE.with_borrow_mut(|state| {
        let request = std::mem::take(&mut state.request);
        let (status, response) = match with(&mut state.session, &request) {
            Ok(Some(response)) => (DONE, response),
            Ok(None) => (ENDED, Vec::new()),
            Err(refusal @ Refusal::NotLoaded(_)) => (NOT_LOADED, refusal.to_string().into_bytes()),
            Err(refusal) => (REFUSED, refusal.to_string().into_bytes()),
        };
        state.response = response;
        status
    })
}

/// Room for a request of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn reserve(length: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.request = vec![0; length];
        state.request.as_mut_ptr()
    })
}

/// Where the response is.
#[unsafe(no_mangle)]
pub extern "C" fn response() -> *const u8 {
    STATE.with_borrow(|state| state.response.as_ptr())
}

/// Bytes of the response.
#[unsafe(no_mangle)]
pub extern "C" fn response_length() -> usize {
    STATE.with_borrow(|state| state.response.len())
}

/// Loads a model: the request is its description (`description` bytes of JSON), then its weights.
#[unsafe(no_mangle)]
pub extern "C" fn load(description: usize) -> u32 {
    answer(|session, request| {
        let (description, weights) = request.split_at(description.min(request.len()));
        session.load(description, weights).map(|()| Some(Vec::new()))
    })
}

/// Answers a question: the request is its kind (`kind` bytes of text), then the question as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn ask(kind: usize) -> u32 {
    answer(|session, request| {
        let (kind, question) = request.split_at(kind.min(request.len()));
        session.ask(&String::from_utf8_lossy(kind), question).map(Some)
    })
}

/// Takes what a graphics card computed: the request is the question (`question` bytes of JSON), then the numbers.
#[unsafe(no_mangle)]
pub extern "C" fn computed(question: usize) -> u32 {
    answer(|session, request| {
        let (question, values) = request.split_at(question.min(request.len()));
        session.computed(question, values).map(|()| Some(Vec::new()))
    })
}

/// Begins to write on under a number; the request is the question as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn begin(number: u32) -> u32 {
    answer(|session, request| session.begin(number, request).map(|()| Some(Vec::new())))
}

/// Writes the next byte under that number.
#[unsafe(no_mangle)]
pub extern "C" fn next(number: u32) -> u32 {
    answer(|session, _| session.next(number))
}

/// Writes no more under that number.
#[unsafe(no_mangle)]
pub extern "C" fn stop(number: u32) {
    STATE.with_borrow_mut(|state| state.session.stop(number));
}
