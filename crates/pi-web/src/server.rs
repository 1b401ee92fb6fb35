//! The server half: a listener with limits, and the parts from which servers are built.
//!
//! [`serve`] accepts connections and calls a handler for every request. A handler passes the request
//! through its [`Gate`], looks up its [`Routes`] and makes a response of a [`Body`]. Refusals are
//! data ([`Refusal`]): each server writes them in the form of its own protocol. Must not know a
//! protocol above HTTP.

mod body;
mod events;
mod gate;
mod listen;
mod reply;
mod routes;
#[cfg(feature = "tls")]
mod tls;

pub use body::{Body, read_body};
pub use events::{Event, KeepAlive, keep_alive, last_event_id};
pub use gate::Gate;
pub use hyper::body::Incoming;
pub use listen::{Limits, Peer, serve};
pub use reply::{Refusal, empty, event_stream, single, whole};
pub use routes::{Params, Routes};
#[cfg(feature = "tls")]
pub use tls::{Tls, TlsError, serve_tls};
