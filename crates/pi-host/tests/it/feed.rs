//! The feed: random readers, stalls, cuts and replacements. Every reader ends with exactly the
//! entries of the file, and builds every message that it saw from its start.

use std::path::{Path, PathBuf};

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::AgentRuntime;
use pi_coding_agent::session::{PromptOptions, SessionEvent};
use pi_host::feed::{Feed, FeedItem, Start};
use proptest::prelude::*;
use serde_json::json;

use crate::env::TestEnv;

/// A step of the session.
#[derive(Debug, Clone)]
enum Step {
    /// A prompt, answered in this many deltas.
    Prompt(usize),
    /// This many entries that are no messages.
    Entries(usize),
    New,
    Fork,
}

/// The habits of a reader: how often it lets others run before it reads the next item, and after
/// how many items its connection is cut.
#[derive(Debug, Clone)]
struct Habits {
    begins: usize,
    stalls: Vec<usize>,
    cuts: Vec<usize>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (1..400_usize).prop_map(Step::Prompt),
        3 => (1..90_usize).prop_map(Step::Entries),
        1 => Just(Step::New),
        1 => Just(Step::Fork),
    ];
    prop::collection::vec(step, 1..12)
}

fn habits() -> impl Strategy<Value = Habits> {
    let stall = prop_oneof![5 => 0..3_usize, 1 => 3..4000_usize];
    (0..400_usize, prop::collection::vec(stall, 1..40), prop::collection::vec(1..200_usize, 1..5))
        .prop_map(|(begins, stalls, cuts)| Habits { begins, stalls, cuts })
}

/// What a client knows of a session.
#[derive(Default)]
struct View {
    session: String,
    entries: Vec<String>,
    /// The text of the message in flight, if the view has seen its start.
    flight: Option<String>,
}

impl View {
    fn take(&mut self, item: FeedItem) {
        match item {
            FeedItem::Entry { sequence, line } => {
                assert_eq!(sequence, self.entries.len() as u64, "no gap and no duplicate");
                self.entries.push(line.to_string());
            }
            FeedItem::Lagged => self.flight = None,
            FeedItem::Replaced { id, .. } => *self = Self { session: id, ..Self::default() },
            FeedItem::Event(event) => self.show(&event),
            _ => {}
        }
    }

    fn show(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::MessageStart { .. } => self.flight = Some(String::new()),
            SessionEvent::MessageEnd { message } => {
                if let (Some(text), Some(answer)) = (self.flight.take(), message.as_assistant()) {
                    let whole: String =
                        answer.content.iter().filter_map(|block| block.as_text()).collect();
                    assert_eq!(text, whole, "every delta, once");
                }
            }
            event => {
                if let (Some(text), Some(delta)) = (&mut self.flight, event.text_delta()) {
                    text.push_str(delta);
                }
            }
        }
    }

    /// Returns where the client continues after its connection was cut.
    fn start(&self) -> Start {
        match self.entries.len().checked_sub(1) {
            Some(last) => Start::After { session: self.session.clone(), sequence: last as u64 },
            None => Start::Beginning,
        }
    }
}

async fn pause(times: usize) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

/// Reads a feed to its end.
async fn follow(feed: Feed, runtime: AgentRuntime, habits: Habits) -> View {
    pause(habits.begins).await;
    let mut view = View { session: runtime.session().id(), ..View::default() };
    let (mut stalls, mut cuts) = (habits.stalls.iter().cycle(), habits.cuts.iter().cycle());
    loop {
        let mut reader = feed.read(view.start());
        view.flight = None;
        if view.entries.is_empty() {
            // The client connects to the session that is the current one.
            view.session = runtime.session().id();
        }
        for _ in 0..*cuts.next().unwrap() {
            pause(*stalls.next().unwrap()).await;
            match reader.next().await {
                Some(item) => view.take(item.unwrap()),
                None => return view,
            }
        }
    }
}

async fn perform(runtime: &AgentRuntime, steps: Vec<Step>, model: &Faux) {
    for step in steps {
        match step {
            Step::Prompt(deltas) => {
                model.push(Reply::new().text("word ".repeat(deltas)).chunks_of(5));
                runtime.session().prompt("question", PromptOptions::default()).await.unwrap();
            }
            Step::Entries(count) => {
                for number in 0..count {
                    let data = Some(json!({ "number": number }));
                    runtime.session().append_entry("test", data).await.unwrap();
                }
            }
            Step::New => drop(runtime.new_session(None).await.unwrap()),
            // A session without messages cannot be forked.
            Step::Fork => drop(runtime.clone_session().await),
        }
        pause(20).await;
    }
}

/// Returns the entries of a session file.
fn entries(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().skip(1).map(str::to_owned).collect()
}

fn check(steps: Vec<Step>, readers: Vec<Habits>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async move {
        let (env, model) = (TestEnv::new(), Faux::new());
        let runtime = env.runtime(&model).await;
        let feed = Feed::new(&runtime);
        let readers: Vec<_> = readers
            .into_iter()
            .map(|habits| tokio::spawn(follow(feed.clone(), runtime.clone(), habits)))
            .collect();
        perform(&runtime, steps, &model).await;
        // The last message makes sure that there is a file.
        perform(&runtime, vec![Step::Prompt(3)], &model).await;
        feed.close();
        let file: PathBuf = runtime.session().file().unwrap();
        for reader in readers {
            assert_eq!(reader.await.unwrap().entries, entries(&file));
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_reader_ends_with_the_entries_of_the_file(
        steps in steps(),
        readers in prop::collection::vec(habits(), 1..6),
    ) {
        check(steps, readers);
    }
}

#[test]
fn a_reader_that_stalls_is_told_and_reads_again() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (env, model) = (TestEnv::new(), Faux::new());
        let runtime = env.runtime(&model).await;
        let feed = Feed::new(&runtime);
        let mut slow = feed.read(Start::Beginning);
        perform(&runtime, vec![Step::Prompt(400), Step::Prompt(2)], &model).await;
        feed.close();
        let (mut has_lagged, mut view) = (false, View::default());
        while let Some(item) = slow.next().await {
            let item = item.unwrap();
            has_lagged |= matches!(item, FeedItem::Lagged);
            view.take(item);
        }
        assert!(has_lagged);
        assert_eq!(view.entries, entries(&runtime.session().file().unwrap()));
    });
}

#[test]
fn a_reader_gets_the_whole_message_in_flight() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (env, model) = (TestEnv::new(), Faux::new());
        let runtime = env.runtime(&model).await;
        let feed = Feed::new(&runtime);
        model.push(Reply::new().text("word ".repeat(2000)).chunks_of(5).hang());
        let session = runtime.session();
        let prompt = tokio::spawn(async move {
            session.prompt("question", PromptOptions::default()).await.unwrap();
        });
        let mut early = feed.read(Start::Beginning);
        let mut deltas = 0;
        while deltas < 2000 {
            if let Some(Ok(FeedItem::Event(event))) = early.next().await {
                deltas += usize::from(event.text_delta().is_some());
            }
        }
        // The answer does not end before it is aborted, so this reader comes in its middle.
        let mut late = feed.read(Start::Now);
        let mut text = String::new();
        while text.len() < 10_000 {
            if let Some(Ok(FeedItem::Event(event))) = late.next().await {
                text.push_str(event.text_delta().unwrap_or_default());
            }
        }
        assert_eq!(text, "word ".repeat(2000));
        runtime.session().abort().await;
        prompt.await.unwrap();
    });
}
