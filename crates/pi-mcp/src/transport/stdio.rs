//! Messages as lines over two streams, such as the pipes of a process.
//!
//! The caller owns the process: it starts it, reads its standard error and ends it.

use std::fmt;
use std::sync::Arc;

use pi_jsonrpc::{Connection, Limits, Service};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::inbox::Inbox;

/// Two streams: what the server writes, and what the server reads.
pub struct Stdio {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
}

impl Stdio {
    /// Takes the output and the input of a server.
    pub fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self { reader: Box::new(reader), writer: Box::new(writer) }
    }

    /// Starts to read and write. The client hears of the end.
    pub(super) fn open(self, inbox: &Arc<Inbox>) -> Connection {
        let service = Arc::clone(inbox) as Arc<dyn Service>;
        let (connection, running) =
            Connection::new(self.reader, self.writer, service, Limits::default());
        let inbox = Arc::clone(inbox);
        tokio::spawn(async move {
            let ended = running.await;
            inbox.closed(&ended.to_string());
        });
        connection
    }
}

impl fmt::Debug for Stdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stdio")
    }
}
