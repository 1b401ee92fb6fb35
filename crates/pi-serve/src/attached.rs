//! One session that a client follows, as ready-made items: from the feed of this server while it has
//! the session open, otherwise from the file.
//!
//! The sequence numbers are the same in both, so a session that is opened, closed or taken by
//! another program goes on for the client without a gap. Nothing is read before the client takes
//! it: a client that does not read falls behind the feed, which reports it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_coding_agent::session::SessionEvent;
use pi_host::Hosted;
use pi_host::feed::{FeedItem, FeedReader, Start};
use pi_host::ui_hub::Attachment;
use pi_session::EffectsResolver;
use tokio::sync::watch;

use crate::elsewhere::{FileReader, Step};
use crate::entrance::Identity;
use crate::error::ApiError;
use crate::items;
use crate::state::ServeState;
use crate::view::Renderer;

/// Entries that a renderer reads before the first one: the results of their calls may follow.
const BEFORE: u64 = 64;

/// The place of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Open in this server.
    Here,
    /// Open in another program.
    Elsewhere,
    /// Not open.
    Stored,
}

impl Place {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Elsewhere => "elsewhere",
            Self::Stored => "stored",
        }
    }
}

/// The items that a client wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Entries and events.
    Full {
        /// Entries come with their markup.
        html: bool,
    },
    /// Bare records of RPC mode, and no entries.
    Plain,
    /// Changes of the place only.
    Quiet,
}

/// The first entry of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// The first one of the log.
    Beginning,
    /// The one after this sequence number.
    After(u64),
    /// The next one.
    Now,
}

/// Attaches a client to the questions of a session that is open here.
pub(crate) type Ask = Box<dyn Fn(&Arc<Hosted>) -> Attachment + Send + Sync>;

/// An item for a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttachedItem {
    /// The JSON text.
    pub(crate) text: String,
    /// Session and sequence number of an entry, after which a client resumes.
    pub(crate) id: Option<String>,
}

/// A session that a client follows.
pub(crate) struct Attached {
    state: Arc<ServeState>,
    /// Signals that a session was opened here, perhaps this one.
    opened: watch::Receiver<u64>,
    identity: Identity,
    /// Id of the current log.
    id: Arc<Mutex<String>>,
    form: Form,
    /// The next entry.
    next: u64,
    source: Source,
    renderer: Option<Renderer>,
    ask: Option<Ask>,
    attachment: Option<Attachment>,
    ready: VecDeque<AttachedItem>,
}

enum Source {
    Here(FeedReader),
    File(Box<FileReader>),
    Ended,
}

impl Attached {
    /// Attaches to a session that the identity reaches.
    pub(crate) async fn open(
        state: &Arc<ServeState>,
        identity: &Identity,
        id: &str,
        from: From,
        form: Form,
        ask: Option<Ask>,
    ) -> Result<Self, ApiError> {
        identity.require_session(id)?;
        let from = if matches!(form, Form::Full { .. }) { from } else { From::Now };
        let mut attached = Self {
            state: Arc::clone(state),
            opened: state.host.opened(),
            identity: identity.clone(),
            id: Arc::new(Mutex::new(id.to_owned())),
            form,
            next: match from {
                From::Beginning => 0,
                From::After(sequence) => sequence.saturating_add(1),
                From::Now => u64::MAX,
            },
            source: Source::Ended,
            renderer: None,
            ask,
            attachment: None,
            ready: VecDeque::new(),
        };
        if !attached.enter() {
            attached.follow_file().await?;
        }
        Ok(attached)
    }

    /// Returns the id of the current log, also while the session is followed.
    pub(crate) fn current(&self) -> Arc<Mutex<String>> {
        Arc::clone(&self.id)
    }

    /// Returns the place of the session.
    pub(crate) fn place(&self) -> Place {
        match &self.source {
            Source::File(reader) if reader.is_used() => Place::Elsewhere,
            Source::File(_) | Source::Ended => Place::Stored,
            Source::Here(_) => Place::Here,
        }
    }

    /// Returns the number of entries of the log.
    pub(crate) fn length(&self) -> u64 {
        match &self.source {
            Source::File(reader) => reader.len(),
            _ => self.hosted().map_or(0, |hosted| length(&hosted)),
        }
    }

    fn session(&self) -> String {
        lock(&self.id).clone()
    }

    fn hosted(&self) -> Option<Arc<Hosted>> {
        self.state.host.with_log(&self.session())
    }

    /// Returns the next item. `None` after the last one, which says why.
    pub(crate) async fn next(&mut self) -> Option<AttachedItem> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            if matches!(self.source, Source::File(_)) && self.enter() {
                self.say_place();
                continue;
            }
            match &mut self.source {
                Source::Ended => return None,
                Source::Here(reader) => match reader.next().await {
                    Some(Ok(item)) => self.take(item),
                    Some(Err(error)) => self.end(&error.to_string()),
                    None => self.leave().await,
                },
                Source::File(reader) => {
                    let step = tokio::select! {
                        biased;
                        // The host lives as long as the server.
                        _ = self.opened.changed() => continue,
                        step = reader.step() => step,
                    };
                    match step {
                        Ok(step) => self.take_step(step),
                        Err(error) => self.end(&error.to_string()),
                    }
                }
            }
        }
    }

    /// Reads the feed from now on, if the session is open here.
    fn enter(&mut self) -> bool {
        let Some(hosted) = self.hosted() else { return false };
        let length = length(&hosted);
        if self.next == u64::MAX {
            self.next = length;
        } else if self.next > length {
            // The file was exchanged for a shorter one.
            self.next = 0;
            let lagged = items::lagged(&self.session());
            self.push(lagged);
        }
        self.set_renderer(|next| {
            let Ok(session) = hosted.session() else { return (None, Vec::new()) };
            let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            let range = size(next.saturating_sub(BEFORE))..size(next);
            let lines =
                session.with_log(|log| log.raw_entries(range).flatten().collect::<Vec<_>>());
            let lines = lines.into_iter().map(|(_, line)| line).collect();
            (Some(session.effects_resolver()), lines)
        });
        let start = match self.next.checked_sub(1) {
            None => Start::Beginning,
            Some(sequence) => Start::After { session: self.session(), sequence },
        };
        self.source = Source::Here(hosted.feed().read(start));
        self.attachment = self.ask.as_ref().map(|ask| ask(&hosted));
        true
    }

    /// Reads the file from now on.
    async fn follow_file(&mut self) -> Result<(), ApiError> {
        let path = self.state.host.find(&self.session()).await?.path;
        let from = if self.next == u64::MAX { 0 } else { self.next };
        let reader = FileReader::open(path, from).await;
        let mut reader = reader.map_err(|error| ApiError::internal(error.to_string()))?;
        if self.next == u64::MAX {
            self.next = reader.len();
            reader.skip_to(self.next);
        } else if self.next > reader.len() {
            self.next = 0;
            reader.skip_to(0);
            let lagged = items::lagged(&self.session());
            self.push(lagged);
        }
        self.set_renderer(|_| (None, reader.before(BEFORE)));
        self.source = Source::File(Box::new(reader));
        Ok(())
    }

    /// Makes a renderer that knows the lines before the next entry.
    fn set_renderer(&mut self, known: impl FnOnce(u64) -> (Option<EffectsResolver>, Vec<String>)) {
        if self.form != (Form::Full { html: true }) {
            return;
        }
        let (effects, lines) = known(self.next);
        let by_name = || EffectsResolver::new(pi_tools::toolset::effects_of);
        let mut renderer = Renderer::new(effects.unwrap_or_else(by_name));
        for line in lines {
            renderer.note(&line);
        }
        self.renderer = Some(renderer);
    }

    /// Continues with the file of a session that was closed here.
    async fn leave(&mut self) {
        self.attachment = None;
        match self.follow_file().await {
            Ok(()) => self.say_place(),
            Err(error) => self.end(&error.message),
        }
    }

    fn take(&mut self, item: FeedItem) {
        match item {
            FeedItem::Entry { sequence, line } => self.entry(sequence, &line),
            FeedItem::Event(event) => self.event(&event),
            FeedItem::Lagged => {
                let lagged = items::lagged(&self.session());
                self.push(lagged);
                // The end of a run may be among the events that were dropped.
                self.say_place();
            }
            FeedItem::Replaced { id, .. } => self.replace(id),
            _ => {}
        }
    }

    fn take_step(&mut self, step: Step) {
        match step {
            Step::Entry(sequence, line) => self.entry(sequence, &line),
            Step::Exchanged => {
                self.next = 0;
                let lagged = items::lagged(&self.session());
                self.push(lagged);
            }
            Step::Used(_) => self.say_place(),
            Step::Quiet => {}
            Step::Deleted => self.end("the session was deleted"),
        }
    }

    fn entry(&mut self, sequence: u64, line: &str) {
        if sequence < self.next {
            return;
        }
        self.next = sequence + 1;
        if !matches!(self.form, Form::Full { .. }) {
            return;
        }
        let id = self.session();
        // A damaged line has no item.
        if let Some(text) = items::entry(&id, sequence, line, self.renderer.as_mut()) {
            self.ready.push_back(AttachedItem { text, id: Some(format!("{id}:{sequence}")) });
        }
    }

    fn event(&mut self, event: &SessionEvent) {
        let text = match self.form {
            Form::Full { .. } => items::event(&self.session(), event),
            Form::Plain if event.is_record() => serde_json::to_string(event).ok(),
            Form::Plain | Form::Quiet => None,
        };
        if let Some(text) = text {
            self.push(text);
        }
    }

    fn replace(&mut self, id: String) {
        let earlier = self.session();
        if !self.identity.reaches(&id) {
            return self.end("the session was replaced by another one");
        }
        self.push(items::replaced(&earlier, &id));
        *lock(&self.id) = id;
        self.next = 0;
        self.set_renderer(|_| (None, Vec::new()));
    }

    fn say_place(&mut self) {
        let session = self.hosted().and_then(|hosted| hosted.session().ok());
        let is_streaming = session.map(|session| session.is_streaming());
        let text = items::place(&self.session(), self.place().as_str(), is_streaming);
        self.push(text);
    }

    /// Ends with a reason.
    fn end(&mut self, reason: &str) {
        let text = items::closed(&self.session(), reason);
        self.push(text);
        self.source = Source::Ended;
        self.attachment = None;
    }

    fn push(&mut self, text: String) {
        self.ready.push_back(AttachedItem { text, id: None });
    }
}

fn length(hosted: &Hosted) -> u64 {
    hosted.session().map_or(0, |session| session.with_log(|log| log.len() as u64))
}
