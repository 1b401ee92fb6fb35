//! A model whose answer goes on when the measurement says so.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::json;

/// The next step of an answer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// Sends this many chunks, with a pause after each.
    Chunks { count: usize, pause: Duration },
    /// Ends the answer.
    End,
}

/// A server on this machine. Every request takes its steps from the same list.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) port: u16,
    steps: Sender<Step>,
    done: Receiver<()>,
}

impl Server {
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let (steps, next) = channel();
        let (finished, done) = channel();
        // One connection at a time: a program has one answer in progress.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that goes away ends its connection only.
                let _ = serve(stream, &next, &finished);
            }
        });
        Ok(Self { port, steps, done })
    }

    /// Performs a step of the answer and waits until it is sent.
    pub(super) fn perform(&self, step: Step, limit: Duration) -> io::Result<()> {
        self.steps.send(step).map_err(io::Error::other)?;
        self.done.recv_timeout(limit).map_err(io::Error::other)
    }
}

/// Answers the requests of a connection.
fn serve(stream: TcpStream, steps: &Receiver<Step>, done: &Sender<()>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(length) = read_head(&mut reader)? {
        io::copy(&mut reader.by_ref().take(length), &mut io::sink())?;
        let out = reader.get_mut();
        out.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")?;
        let mut number = 0;
        loop {
            let Ok(step) = steps.recv() else { return Ok(()) };
            match step {
                Step::Chunks { count, pause } => {
                    for _ in 0..count {
                        send(out, &text(number))?;
                        number += 1;
                        thread::sleep(pause);
                    }
                }
                Step::End => {
                    let end = json!({"id": "r", "model": "m1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": number}});
                    send(out, &format!("data: {end}\n\ndata: [DONE]\n\n"))?;
                    out.write_all(b"0\r\n\r\n")?;
                }
            }
            // The other side only goes away with the program.
            let _ = done.send(());
            if matches!(step, Step::End) {
                break;
            }
        }
    }
    Ok(())
}

/// Reads the head of a request and returns the length of its body; `None` at the end.
fn read_head(reader: &mut BufReader<TcpStream>) -> io::Result<Option<u64>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line.trim().is_empty() {
            return Ok(Some(length));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
}

/// Returns the event with the given part of an answer: words, and a new paragraph now and then.
fn text(number: usize) -> String {
    let words = match number % 60 {
        0 => "Here **the answer** goes on",
        59 => ".\n\n",
        20 => " with `code`",
        _ => " with more words",
    };
    let event =
        json!({"id": "r", "model": "m1", "choices": [{"index": 0, "delta": {"content": words}}]});
    format!("data: {event}\n\n")
}

fn send(out: &mut TcpStream, text: &str) -> io::Result<()> {
    out.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}
