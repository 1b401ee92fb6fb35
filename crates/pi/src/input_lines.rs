//! Lines of stdin for asynchronous code, which can stop waiting for one.

use std::io::BufRead as _;
use std::sync::Arc;

use tokio::sync::{Mutex, mpsc};

/// The lines that the user types.
#[derive(Clone)]
pub(crate) struct Lines(Arc<Mutex<mpsc::UnboundedReceiver<String>>>);

impl Lines {
    /// Reads stdin on a thread of its own: reading cannot be cancelled.
    pub(crate) fn start() -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let read = move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new().name("terminal input".to_owned()).spawn(read)?;
        Ok(Self(Arc::new(Mutex::new(receiver))))
    }

    #[cfg(test)]
    pub(crate) fn of(lines: &[&str]) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        for line in lines {
            sender.send((*line).to_owned()).unwrap();
        }
        Self(Arc::new(Mutex::new(receiver)))
    }

    /// Returns the next line; `None` at the end of the input.
    pub(crate) async fn next(&self) -> Option<String> {
        self.0.lock().await.recv().await
    }
}
