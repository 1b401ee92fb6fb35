//! The server of a model, in the format of OpenAI completions.
//!
//! A prompt with `CHUNKS n` is answered at once with that many chunks. The answer to any other
//! prompt waits, and continues when a measurement says so.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pi_base::lock;
use serde_json::{Value, json};

/// The next step of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// Sends this many chunks, with a pause after each.
    Chunks { count: usize, pause: Duration },
    /// Ends the answer.
    End,
}

/// A server on this machine. Every request takes its steps from the same list.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) port: u16,
    steps: Sender<Step>,
    done: Receiver<()>,
}

/// The ends of the channels that connections use, one at a time.
type Channels = Arc<Mutex<(Receiver<Step>, Sender<()>)>>;

impl Model {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let (steps, next) = channel();
        let (finished, done) = channel();
        let channels = Arc::new(Mutex::new((next, finished)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let channels = Arc::clone(&channels);
                // A client that goes away ends its connection only.
                thread::spawn(move || serve(stream, &channels));
            }
        });
        Ok(Self { port, steps, done })
    }

    /// Performs a step of the answer and waits until it is sent.
    pub(crate) fn perform(&self, step: Step, limit: Duration) -> io::Result<()> {
        self.steps.send(step).map_err(io::Error::other)?;
        self.done.recv_timeout(limit).map_err(io::Error::other)
    }
}

/// Answers the requests of a connection.
fn serve(stream: TcpStream, channels: &Channels) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(body) = read(&mut reader)? {
        let out = reader.get_mut();
        match chunks(&body) {
            Some(count) => {
                let answer = chunk("word ").repeat(count) + &end(count);
                let head = head(&format!("content-length: {}", answer.len()));
                out.write_all((head + &answer).as_bytes())?;
            }
            None => {
                out.write_all(head("transfer-encoding: chunked").as_bytes())?;
                follow(out, channels)?;
            }
        }
    }
    Ok(())
}

/// Sends an answer step by step.
fn follow(out: &mut TcpStream, channels: &Channels) -> io::Result<()> {
    let channels = lock(channels);
    let (steps, done) = &*channels;
    let mut number = 0;
    loop {
        let Ok(step) = steps.recv() else { return Ok(()) };
        match step {
            Step::Chunks { count, pause } => {
                for _ in 0..count {
                    send(out, &chunk(words(number)))?;
                    number += 1;
                    thread::sleep(pause);
                }
            }
            Step::End => {
                send(out, &end(number))?;
                out.write_all(b"0\r\n\r\n")?;
            }
        }
        // The other side only goes away with the program.
        let _ = done.send(());
        if matches!(step, Step::End) {
            return Ok(());
        }
    }
}

/// Reads a request and returns its body; `None` at the end.
fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Vec<u8>>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line.trim().is_empty() {
            let mut body = vec![0; length];
            reader.read_exact(&mut body)?;
            return Ok(Some(body));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
}

/// Returns the number of chunks that the prompt asks for.
fn chunks(body: &[u8]) -> Option<usize> {
    let body = String::from_utf8_lossy(body);
    let (_, count) = body.rsplit_once("CHUNKS ")?;
    count.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn head(framing: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{framing}\r\n\r\n")
}

/// Returns a part of an answer: words, and a new paragraph now and then.
fn words(number: usize) -> &'static str {
    match number % 60 {
        0 => "Here **the answer** goes on",
        59 => ".\n\n",
        20 => " with `code`",
        _ => " with more words",
    }
}

fn event(choice: &Value, usage: &Value) -> String {
    let event = json!({"id": "r", "model": "m1", "choices": [choice], "usage": usage});
    format!("data: {event}\n\n")
}

fn chunk(words: &str) -> String {
    event(&json!({"index": 0, "delta": {"content": words}}), &Value::Null)
}

fn end(tokens: usize) -> String {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": tokens});
    let choice = json!({"index": 0, "delta": {}, "finish_reason": "stop"});
    event(&choice, &usage) + "data: [DONE]\n\n"
}

fn send(out: &mut TcpStream, text: &str) -> io::Result<()> {
    out.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(port: u16, prompt: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let head = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", prompt.len());
        stream.write_all((head + prompt).as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        stream
    }

    #[test]
    fn answers_come_at_once_or_in_steps() {
        let model = Model::start().unwrap();
        let mut text = String::new();
        request(model.port, "CHUNKS 3").read_to_string(&mut text).unwrap();
        assert_eq!(text.matches("word ").count(), 3, "{text}");
        assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
        let mut stream = request(model.port, "go");
        let limit = Duration::from_secs(20);
        model.perform(Step::Chunks { count: 2, pause: Duration::ZERO }, limit).unwrap();
        model.perform(Step::End, limit).unwrap();
        text.clear();
        stream.read_to_string(&mut text).unwrap();
        assert_eq!(text.matches("\"content\"").count(), 2, "{text}");
    }
}
