//! The pool: sessions by id, attached clients, idle sessions, and take-over between two hosts.

use std::sync::Arc;
use std::time::Duration;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::extension::NoUi;
use pi_coding_agent::session::PromptOptions;
use pi_coding_agent::{AgentOptions, SessionSelector, create_agent_session};
use pi_host::feed::{FeedItem, Start};
use pi_host::ui_hub::NewClient;
use pi_host::{Host, HostOptions, Hosted, OpenError, OpenPlan, Opened};

use crate::env::TestEnv;

fn host(env: &TestEnv, change: impl FnOnce(&mut HostOptions)) -> Host {
    let model = Faux::responding(|_| Reply::new().text("answer"));
    Host::new(host_options(env.options(&model), change))
}

/// Makes a host whose sessions have a model and changed options.
pub(crate) fn host_of(env: &TestEnv, model: &Faux, change: impl FnOnce(&mut AgentOptions)) -> Host {
    let mut base = env.options(model);
    change(&mut base);
    Host::new(host_options(base, |_| {}))
}

fn host_options(base: AgentOptions, change: impl FnOnce(&mut HostOptions)) -> HostOptions {
    let environment = base.environment().clone();
    let opener = move |request: pi_host::OpenRequest| {
        let mut options = base.clone();
        request.apply(&mut options);
        let opening = async move {
            let created = create_agent_session(options).await;
            let created = created.map_err(|refused| OpenError::Failed(refused.to_string()))?;
            Ok(Opened { runtime: created.runtime, notices: Vec::new() })
        };
        Box::pin(opening) as _
    };
    let mut options = HostOptions::new(Arc::new(opener), environment);
    change(&mut options);
    options
}

async fn prompt(session: &Hosted) {
    let session = session.session().unwrap();
    session.prompt("question", PromptOptions::default()).await.unwrap();
}

#[tokio::test]
async fn a_session_is_open_once_and_found_again_after_it_was_closed() {
    let env = TestEnv::new();
    let host = host(&env, |_| {});
    let plan = OpenPlan::new(env.project());
    let first = host.open(SessionSelector::New, plan.clone(), None).await.unwrap().session;
    prompt(&first).await;
    let again = host.enter(first.id(), plan.clone(), None).await.unwrap();
    assert!(again.was_open && Arc::ptr_eq(&again.session, &first));
    let id = first.id().to_owned();
    let mut reader = first.feed().read(Start::Beginning);
    drop((first, again));
    assert!(host.close(&id).await);
    assert!(!host.close(&id).await);
    let mut entries = 0;
    while let Some(item) = reader.next().await {
        entries += usize::from(matches!(item.unwrap(), FeedItem::Entry { .. }));
    }
    assert!(entries >= 2, "a reader gets the rest of a closed session");
    let reopened = host.enter(&id, plan.clone(), None).await.unwrap();
    assert!(!reopened.was_open);
    assert!(reopened.session.session().unwrap().message_count() >= 2);
    let missing = host.enter("nothing", plan, None).await.unwrap_err();
    assert!(matches!(missing, OpenError::NotFound(_)), "{missing}");
    host.delete(&id).await.unwrap();
    assert!(host.stored(None).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_reader_stays_when_the_session_is_opened_anew() {
    let env = TestEnv::new();
    let host = host(&env, |_| {});
    let plan = OpenPlan::new(env.project());
    let session = host.open(SessionSelector::New, plan.clone(), None).await.unwrap().session;
    prompt(&session).await;
    let mut reader = session.feed().read(Start::Beginning);
    let turn = session.turn().await;
    session.reopen(plan, turn).await.1.unwrap();
    prompt(&session).await;
    let file = session.session().unwrap().file().unwrap();
    host.close(session.id()).await;
    let mut lines = Vec::new();
    while let Some(item) = reader.next().await {
        match item.unwrap() {
            FeedItem::Entry { sequence, line } => {
                assert_eq!(sequence, lines.len() as u64);
                lines.push(line.to_string());
            }
            FeedItem::Replaced { .. } => panic!("it is the same session"),
            _ => {}
        }
    }
    let text = std::fs::read_to_string(file).unwrap();
    assert_eq!(lines, text.lines().skip(1).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_limit_counts_and_an_idle_session_makes_room() {
    let env = TestEnv::new();
    let host = host(&env, |options| {
        options.most = 1;
        options.idle = Some(Duration::ZERO);
    });
    let plan = OpenPlan::new(env.project());
    let first = host.open(SessionSelector::New, plan.clone(), None).await.unwrap().session;
    let attached = first.ui().attach(NewClient::new(None, Arc::new(NoUi)));
    let refused = host.open(SessionSelector::New, plan.clone(), None).await.unwrap_err();
    assert!(matches!(refused, OpenError::TooMany(1)), "{refused}");
    attached.detach();
    host.open(SessionSelector::New, plan, None).await.unwrap();
    assert!(first.is_closed());
}

#[tokio::test]
async fn a_session_is_taken_over_from_another_host_when_it_is_not_busy() {
    let env = TestEnv::new();
    let (one, other) = (host(&env, |_| {}), host(&env, |_| {}));
    let plan = OpenPlan::new(env.project());
    let session = one.open(SessionSelector::New, plan.clone(), None).await.unwrap().session;
    prompt(&session).await;
    let id = session.id().to_owned();
    let refused = other.enter(&id, plan.clone(), None).await.unwrap_err();
    assert!(matches!(refused, OpenError::Failed(_)), "{refused}");
    // The request of a process that was killed.
    let file = session.session().unwrap().file().unwrap();
    std::fs::write(format!("{}.takeover", file.display()), "").unwrap();
    one.tend().await;
    assert!(one.get(&id).is_some());
    let turn = session.turn().await;
    let busy = other.take_over(&id, plan.clone(), None, Duration::ZERO).await.unwrap_err();
    assert!(busy.to_string().contains("does not release it"), "{busy}");
    drop((turn, session));
    let taking = other.take_over(&id, plan, None, Duration::from_secs(60));
    let tending = async {
        while one.get(&id).is_some() {
            one.tend().await;
            tokio::task::yield_now().await;
        }
    };
    let (taken, ()) = tokio::join!(taking, tending);
    assert_eq!(taken.unwrap().session.id(), id);
}

#[tokio::test]
async fn a_session_that_moved_to_another_log_is_found_by_its_current_one() {
    let env = TestEnv::new();
    let host = host(&env, |_| {});
    let plan = OpenPlan::new(env.project());
    let moved = host.open(SessionSelector::New, plan.clone(), None).await.unwrap().session;
    prompt(&moved).await;
    let first = moved.id().to_owned();
    moved.runtime().unwrap().new_session(None).await.unwrap();
    prompt(&moved).await;
    let second = moved.session().unwrap().id();
    assert!(Arc::ptr_eq(&host.get(&first).unwrap(), &moved), "its clients know it by the first id");
    assert!(host.with_log(&first).is_none());
    assert!(Arc::ptr_eq(&host.with_log(&second).unwrap(), &moved));
    let stored = host.find(&first).await.unwrap();
    assert!(!host.is_elsewhere(&stored).await);
    let again = host.enter_log(&stored, plan.clone(), None).await.unwrap();
    assert!(!again.was_open && !Arc::ptr_eq(&again.session, &moved));
    let stored = host.find(&second).await.unwrap();
    let entered = host.enter_log(&stored, plan, None).await.unwrap();
    assert!(entered.was_open && Arc::ptr_eq(&entered.session, &moved));
    host.close_session(&moved).await;
    assert_eq!(host.open_sessions().len(), 1);
}
