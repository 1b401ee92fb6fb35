//! The event loop: input, events of the session, requests of extensions, signals and time; then a
//! frame, if one is due.

use std::io;
use std::time::Instant;

use pi_coding_agent::MergeQueue;
use pi_coding_agent::session::SessionEvent;
use pi_protocol::Outcome;
use pi_tui::input::decoder::{Decoder, Event};
use tokio::sync::mpsc;

use crate::app::App;
use crate::app::events;
use crate::app::frame;
use crate::app::input;
use crate::app::requests;
use crate::keyboard::Keyboard;
use crate::signals::{Signal, Signals};
use crate::tasks::{Effect, until};
use crate::ui::UiRequest;

/// Everything that wakes the event loop.
pub(crate) struct Sources {
    pub(crate) keyboard: Keyboard,
    pub(crate) decoder: Decoder,
    pub(crate) events: MergeQueue<SessionEvent>,
    pub(crate) requests: mpsc::UnboundedReceiver<UiRequest>,
    pub(crate) effects: mpsc::UnboundedReceiver<Effect<App>>,
    pub(crate) signals: Signals,
}

/// The most events that are applied before a frame may be drawn.
const BATCH: usize = 1024;

/// Reason for a turn of the loop.
enum Woken {
    Input(io::Result<Vec<u8>>),
    Undecided,
    Event(SessionEvent),
    Request(UiRequest),
    Effect(Effect<App>),
    Signal(Signal),
    Time,
    Written,
    Panel,
}

/// Runs until the user leaves.
pub(crate) async fn run(app: &mut App, mut sources: Sources) -> Outcome {
    let mut undecided: Option<Instant> = None;
    // What extensions requested while the session started is there before the first key.
    while let Ok(request) = sources.requests.try_recv() {
        requests::apply(app, request);
    }
    loop {
        if let Some(outcome) = app.exit {
            return outcome;
        }
        let now = Instant::now();
        if app.display.is_due(now) {
            apply_events(app, &sources.events);
        }
        frame::draw_if_due(app, now);
        match wait(app, &mut sources, undecided, now).await {
            Woken::Input(Ok(bytes)) if !bytes.is_empty() => {
                receive(app, &mut sources.decoder, |decoder, out| decoder.push(&bytes, out));
                // All input that has arrived is applied before a frame is drawn.
                while let Ok(Ok(bytes)) = sources.keyboard.try_recv()
                    && !bytes.is_empty()
                {
                    receive(app, &mut sources.decoder, |decoder, out| decoder.push(&bytes, out));
                }
                undecided = sources.decoder.timeout().map(|timeout| Instant::now() + timeout);
            }
            Woken::Input(_) => app.exit = Some(Outcome::HungUp),
            Woken::Undecided => {
                receive(app, &mut sources.decoder, Decoder::flush);
                undecided = None;
            }
            Woken::Event(event) => {
                events::apply(app, &event);
                apply_events(app, &sources.events);
                app.display.request_frame();
            }
            Woken::Request(request) => {
                requests::apply(app, request);
                app.display.request_frame();
            }
            Woken::Effect(effect) => {
                // What the session reported before the work ended is applied before its effect.
                while let Some(event) = sources.events.try_next() {
                    events::apply(app, &event);
                }
                effect(app);
                app.display.request_frame();
            }
            Woken::Signal(Signal::Resized) => app.display.resized(),
            Woken::Signal(Signal::Continued) => app.display.redraw(),
            Woken::Signal(Signal::Ended(outcome)) => app.exit = Some(outcome),
            Woken::Time => frame::on_time(app, Instant::now()),
            Woken::Written => {}
            Woken::Panel => app.display.request_frame(),
        }
        if app.display.has_failed() {
            app.exit = Some(Outcome::HungUp);
        }
    }
}

/// Applies the events that wait, up to a limit.
fn apply_events(app: &mut App, events: &MergeQueue<SessionEvent>) {
    for _ in 0..BATCH {
        let Some(event) = events.try_next() else { break };
        events::apply(app, &event);
    }
}

async fn wait(app: &App, sources: &mut Sources, undecided: Option<Instant>, now: Instant) -> Woken {
    let is_held_back = app.display.is_held_back();
    // Events wait for the frame that will show them: a wake-up per chunk of an answer would cost
    // more than the chunk.
    let is_frame_near = app.display.is_frame_near();
    let wake = frame::next_wake(app, now);
    tokio::select! {
        biased;
        signal = sources.signals.next() => Woken::Signal(signal),
        piece = sources.keyboard.recv() => Woken::Input(piece.unwrap_or_else(|| Ok(Vec::new()))),
        () = until(undecided) => Woken::Undecided,
        Some(effect) = sources.effects.recv() => Woken::Effect(effect),
        Some(request) = sources.requests.recv() => Woken::Request(request),
        event = sources.events.next(), if !is_frame_near => Woken::Event(event),
        () = app.display.written(), if is_held_back => Woken::Written,
        () = app.panels.background() => Woken::Panel,
        () = until(wake) => Woken::Time,
    }
}

/// Decodes input and applies all of it, in order.
fn receive(
    app: &mut App,
    decoder: &mut Decoder,
    decode: impl FnOnce(&mut Decoder, &mut Vec<Event>),
) {
    let mut decoded = Vec::new();
    decode(decoder, &mut decoded);
    for event in decoded {
        match event {
            Event::Input(input) => input::apply(app, &input),
            Event::Reply(reply) => input::reply(app, &reply),
        }
    }
    app.display.request_frame_now();
}
