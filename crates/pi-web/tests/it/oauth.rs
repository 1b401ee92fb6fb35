//! Logins against scripted authorization servers on real sockets.

mod callback;
mod code;
mod device;
mod dialects;
mod discovery;
mod env;
mod hostile;
mod id_token;
mod refresh;
mod service;
