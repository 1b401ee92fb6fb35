//! The GET stream of the legacy era: what the server sends by itself.

use std::sync::Arc;
use std::time::Duration;

use pi_jsonrpc::Message;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::HttpLink;
use super::answers::{Broken, Events, is_stream};
use super::send::Sending;
use crate::protocol::Era;

/// The first pause before a stream is opened again.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause, unless the server asks for a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The limits of what a server may ask for: a pause of nothing would be a busy loop.
const ASKED: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(300));

/// The time in which a server should open the stream. Some send nothing before the first event.
const OPENING: Duration = Duration::from_secs(1);

/// Returns the pause before a stream is opened again.
pub(super) fn pause(asked: Option<Duration>, ours: Duration) -> Duration {
    asked.map_or(ours, |asked| asked.clamp(ASKED.0, ASKED.1))
}

impl HttpLink {
    /// Opens the stream of the present session, and again when it breaks. Waits for a moment until it
    /// is open: servers lose the questions that they ask before that.
    pub(in crate::transport) async fn listen(self: &Arc<Self>) {
        let link = Arc::clone(self);
        let stop = self.stop.clone();
        let mut handshakes = self.handshakes.subscribe();
        let (open, opened) = oneshot::channel();
        tokio::spawn(async move {
            let number = *handshakes.borrow_and_update();
            tokio::select! {
                () = stop.cancelled() => {}
                _ = handshakes.wait_for(|now| *now != number) => {}
                () = link.follow(open) => {}
            }
        });
        // The stream goes on if it takes longer.
        let _ = timeout(OPENING, opened).await;
    }

    /// Reads the stream until the server has none.
    async fn follow(self: &Arc<Self>, open: oneshot::Sender<()>) {
        let mut open = Some(open);
        let mut ours = FIRST_PAUSE;
        let mut last: Option<String> = None;
        loop {
            let mut headers = self.session().headers();
            headers.extend(last.iter().map(|last| ("last-event-id".to_owned(), last.clone())));
            let mut asked = None;
            let answer = self.send(Sending::get(headers)).await;
            drop(open.take());
            match answer {
                Ok(response) if response.status == 200 && is_stream(&response) => {
                    let mut events = Events::new(response);
                    if self.read_all(&mut events).await {
                        ours = FIRST_PAUSE;
                    }
                    asked = events.retry();
                    last = events.last_id().map(str::to_owned).or(last);
                }
                Ok(response) if response.status < 500 && response.status != 429 => return,
                // The next request of the client reports what is wrong.
                Ok(_) | Err(_) => {}
            }
            sleep(pause(asked, ours)).await;
            ours = (ours * 2).min(LONGEST_PAUSE);
        }
    }

    /// Reads a stream to its end. Returns true if it had events.
    async fn read_all(self: &Arc<Self>, events: &mut Events) -> bool {
        let mut had_events = false;
        loop {
            match events.next().await {
                Ok(batch) => {
                    had_events |= !batch.is_empty();
                    for event in batch {
                        self.receive(Message::parse(event.as_bytes()), None, Era::Legacy);
                    }
                }
                Err(Broken::TooLong) => {
                    self.inbox.handler.problem("an event is too large");
                    return false;
                }
                Err(Broken::Ended(_)) => return had_events,
            }
        }
    }
}
