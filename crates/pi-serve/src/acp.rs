//! `/acp`: the Agent Client Protocol over a WebSocket, one message per frame.
//!
//! A client brings MCP servers, which are programs of this machine, chooses working directories and
//! answers approvals, so it needs the right of an administrator. Its files and terminals are those of
//! another machine, and not used.

use futures_util::{SinkExt as _, StreamExt as _};
use pi_web::websocket::{self, Message, WebSocket};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex, split};

use crate::api::{Answer, ApiError, Call};
use crate::audit::AuditRecord;
use crate::entrance::Identity;
use crate::state::ServeState;

/// The longest message of a client. Images come as base64.
const FRAME: usize = 32 << 20;

/// Bytes that wait between the socket and the protocol.
const BUFFER: usize = 64 << 10;

/// Opens the socket of a request.
pub(crate) async fn open(mut call: Call) -> Answer {
    let Some(options) = call.state.options.acp.clone() else { return Err(ApiError::not_found()) };
    let identity = call.identity()?.clone();
    let (response, opening) = websocket::accept(&mut call.request)?;
    let Call { state, peer, .. } = call;
    state.audit.record(&AuditRecord::new(Some(&identity.name), peer, "acp"));
    tokio::spawn(async move {
        // A client that has gone before the socket is open needs no answer.
        if let Ok(socket) = opening.open(FRAME).await {
            serve(&state, &identity, options, socket).await;
        }
    });
    Ok(response)
}

/// Serves a client until it has gone, its token ends or the server stops.
async fn serve(
    state: &ServeState,
    identity: &Identity,
    options: pi_acp::Options,
    socket: WebSocket,
) {
    let (near, far) = duplex(BUFFER);
    let (reader, writer) = split(far);
    let stop = async {
        tokio::select! {
            () = identity.ended() => {}
            () = state.stop.cancelled() => {}
        }
    };
    let serving = pi_acp::serve(state.host.clone(), options, reader, writer, stop);
    let (from_agent, mut to_agent) = split(near);
    let (mut sink, mut stream) = socket.split();
    let up = async {
        while let Some(Ok(message)) = stream.next().await {
            match message {
                // Between two values of JSON, a line break is as good as a space.
                Message::Text(text) => {
                    let mut line = text.as_str().replace(['\n', '\r'], " ").into_bytes();
                    line.push(b'\n');
                    if to_agent.write_all(&line).await.is_err() {
                        break;
                    }
                }
                Message::Close(_) | Message::Binary(_) => break,
                _ => {}
            }
        }
        // The end of the input ends the protocol.
        let _ = to_agent.shutdown().await;
        std::future::pending::<()>().await;
    };
    let down = async {
        let mut lines = BufReader::new(from_agent).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if sink.send(Message::text(line)).await.is_err() {
                break;
            }
        }
        // A client that has gone needs no farewell.
        let _ = sink.close().await;
    };
    tokio::select! {
        _ = async { tokio::join!(serving, down) } => {}
        () = up => {}
    }
}
