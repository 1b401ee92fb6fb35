//! The runs of the server: those in progress, and the latest that have ended.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use pi_base::lock;
use pi_coding_agent::AgentSession;
use pi_protocol::CancelToken;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::ceiling::Wishes;

/// The runs that are remembered after their end.
const REMEMBERED: usize = 200;

/// The sessions whose wishes are remembered.
const SESSIONS: usize = 1_000;

/// All runs.
pub(super) struct Runs {
    most: usize,
    /// The most that all runs can cost, in US dollars.
    budget: Option<f64>,
    state: Mutex<State>,
    in_progress: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    records: VecDeque<Record>,
    /// Wishes of callers for the latest run of a session.
    wishes: VecDeque<(String, Wishes)>,
    next: u64,
    /// The cost of the runs that have ended, in US dollars.
    spent: f64,
}

/// A run of a session.
struct Record {
    id: String,
    session: String,
    cwd: PathBuf,
    started: jiff::Timestamp,
    /// The line of the latest tool call.
    doing: String,
    /// Cancelled with the request of the caller, or by an abort. It counts also while no session can
    /// be aborted: before it starts, and between two prompts.
    cancel: CancelToken,
    /// The part of the budget that the run can use.
    reserved: f64,
    /// The cost of the session before the run.
    earlier: f64,
    /// In progress until it is dropped.
    agent: Option<AgentSession>,
    report: Option<Value>,
}

/// A place among the runs in progress, given back when it is dropped.
pub(super) struct Place {
    runs: Arc<Runs>,
    id: String,
    cancel: CancelToken,
    reserved: Option<f64>,
}

impl Runs {
    pub(super) fn new(most: usize, budget: Option<f64>) -> Arc<Self> {
        let (state, in_progress) = (Mutex::default(), watch::Sender::new(0));
        Arc::new(Self { most, budget, state, in_progress })
    }

    /// Takes a place for a run that costs at most `cost` dollars. The error is a message for the
    /// caller.
    pub(super) fn take(
        self: &Arc<Self>,
        session: Option<&str>,
        cwd: PathBuf,
        cancel: CancelToken,
        cost: Option<f64>,
    ) -> Result<Place, String> {
        let mut state = self.lock();
        let in_progress = state.records.iter().filter(|run| run.report.is_none());
        if in_progress.clone().count() >= self.most {
            let most = self.most;
            return Err(format!("{most} runs are in progress; wait for one or abort it"));
        }
        if session.is_some_and(|session| in_progress.clone().any(|run| run.session == session)) {
            return Err("a run of this session is in progress; wait for it or abort it".to_owned());
        }
        let reserved: f64 = in_progress.clone().map(|run| run.reserved).sum();
        let reserved = match self.budget.map(|budget| budget - state.spent) {
            None => None,
            Some(left) if left <= 0.0 => {
                return Err("the budget of this server is used up".to_owned());
            }
            Some(left) if left <= reserved => {
                let rest = "runs in progress may use the rest of the budget of this server";
                return Err(format!("{rest}; wait for one, and give lower limits"));
            }
            Some(left) => Some(cost.map_or(left - reserved, |cost| cost.min(left - reserved))),
        };
        state.next += 1;
        let id = format!("mcp-{}-{}", std::process::id(), state.next);
        state.records.push_back(Record {
            id: id.clone(),
            session: session.unwrap_or_default().to_owned(),
            cwd,
            started: jiff::Timestamp::now(),
            doing: "starting".to_owned(),
            cancel: cancel.clone(),
            reserved: reserved.unwrap_or_default(),
            earlier: 0.0,
            agent: None,
            report: None,
        });
        while state.records.len() > REMEMBERED + self.most {
            let ended = state.records.iter().position(|run| run.report.is_some());
            ended.and_then(|at| state.records.remove(at));
        }
        drop(state);
        self.in_progress.send_modify(|count| *count += 1);
        Ok(Place { runs: Arc::clone(self), id, cancel, reserved })
    }

    /// Aborts the run of a session. Returns false if none is in progress.
    pub(super) fn abort(&self, session: &str) -> bool {
        // A run without a session yet has no id that could be given.
        !session.is_empty() && self.abort_where(|run| run.session == session)
    }

    /// Aborts all runs.
    pub(super) fn abort_all(&self) {
        self.abort_where(|_| true);
    }

    fn abort_where(&self, is_chosen: impl Fn(&Record) -> bool) -> bool {
        let state = self.lock();
        let chosen = state.records.iter().filter(|run| run.report.is_none() && is_chosen(run));
        let chosen: Vec<_> = chosen.map(|run| (run.cancel.clone(), run.agent.clone())).collect();
        drop(state);
        for (cancel, agent) in &chosen {
            cancel.cancel();
            agent.iter().for_each(AgentSession::request_abort);
        }
        !chosen.is_empty()
    }

    /// Returns what a caller wished for the latest run of a session.
    pub(super) fn wishes(&self, session: &str) -> Wishes {
        let state = self.lock();
        let known = state.wishes.iter().find(|(id, _)| id == session);
        known.map(|(_, wishes)| wishes.clone()).unwrap_or_default()
    }

    /// Waits until no run is in progress.
    pub(super) async fn idle(&self) {
        // The sender lives as long as the runs.
        let _ = self.in_progress.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Describes the runs of a session, or all, the newest first.
    pub(super) fn status(&self, session: Option<&str>) -> Vec<Value> {
        let state = self.lock();
        let chosen = state.records.iter().rev();
        let chosen = chosen.filter(|run| session.is_none_or(|session| run.session == session));
        chosen.map(Record::describe).collect()
    }

    /// Returns the report of a run that has ended.
    pub(super) fn report(&self, id: &str) -> Option<Value> {
        self.lock().records.iter().find(|run| run.id == id)?.report.clone()
    }

    /// Returns the ids of the runs that have ended, the newest first.
    pub(super) fn reported(&self) -> Vec<String> {
        let state = self.lock();
        let ended = state.records.iter().rev().filter(|run| run.report.is_some());
        ended.map(|run| run.id.clone()).collect()
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Record)) {
        if let Some(record) = self.lock().records.iter_mut().find(|run| run.id == id) {
            change(record);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Record {
    fn describe(&self) -> Value {
        let mut run = json!({
            "runId": self.id,
            "sessionId": self.session,
            "cwd": self.cwd.to_string_lossy(),
            "started": self.started.to_string(),
        });
        match &self.report {
            None => {
                run["state"] = json!("running");
                run["doing"] = json!(self.doing);
            }
            Some(report) => {
                run["state"] = json!("ended");
                run["outcome"] = report["outcome"].clone();
            }
        }
        run
    }
}

impl Place {
    /// Returns the id of the run.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the part of the budget that the run can use, in US dollars, if there is a budget.
    pub(super) fn reserved(&self) -> Option<f64> {
        self.reserved
    }

    /// Returns the token that is cancelled when the run has to end.
    pub(super) fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    /// Notes the session of the run, and what the caller wished for it.
    pub(super) fn begin(&self, agent: &AgentSession, wishes: Wishes) {
        let (session, earlier, agent) = (agent.id(), cost(agent), agent.clone());
        let mut state = self.runs.lock();
        state.wishes.retain(|(id, _)| *id != session);
        state.wishes.push_back((session.clone(), wishes));
        if state.wishes.len() > SESSIONS {
            state.wishes.pop_front();
        }
        drop(state);
        self.runs.change(&self.id, |run| {
            run.session = session;
            run.earlier = earlier;
            run.agent = Some(agent);
        });
    }

    /// Gives the place back before anything ran. No one hears of it again.
    pub(super) fn withdraw(self) {
        self.runs.lock().records.retain(|run| run.id != self.id);
    }

    /// Returns a function that notes what the run does.
    pub(super) fn notes(&self) -> impl Fn(&str) + Send + Sync + 'static {
        let (runs, id) = (Arc::clone(&self.runs), self.id.clone());
        move |line| runs.change(&id, |run| line.clone_into(&mut run.doing))
    }

    /// Keeps the report of the run, and releases its session.
    pub(super) fn report(&self, report: Value) {
        self.end(Some(report));
    }

    /// Ends the run, unless it has ended. Returns its session.
    fn end(&self, report: Option<Value>) -> Option<AgentSession> {
        let is_own = |run: &Record| run.id == self.id;
        let state = self.runs.lock();
        let run = state.records.iter().find(|run| is_own(run))?;
        let (agent, earlier) = (run.agent.clone(), run.earlier);
        drop(state);
        // Without the lock: the session may wait for it to note something.
        let spent = agent.as_ref().map_or(0.0, |agent| cost(agent) - earlier).max(0.0);
        let mut state = self.runs.lock();
        let run = state.records.iter_mut().find(|run| is_own(run))?;
        let none = json!({ "runId": run.id, "sessionId": run.session, "outcome": "failed" });
        run.report.get_or_insert(report.unwrap_or(none));
        run.agent = None;
        state.spent += spent;
        agent
    }
}

/// Returns what a session has cost, in US dollars.
fn cost(agent: &AgentSession) -> f64 {
    agent.totals().map(|totals| totals.stats.cost).unwrap_or_default()
}

impl Drop for Place {
    fn drop(&mut self) {
        // A run that was given up ends as well.
        if let Some(agent) = self.end(None) {
            agent.request_abort();
        }
        self.runs.in_progress.send_modify(|count| *count = count.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(runs: &Arc<Runs>, session: &str, cost: Option<f64>) -> Result<Place, String> {
        runs.take(Some(session), PathBuf::from("/project"), CancelToken::new(), cost)
    }

    #[test]
    fn an_abort_counts_before_the_session_starts() {
        let runs = Runs::new(2, None);
        let (one, other) = (take(&runs, "a", None).unwrap(), take(&runs, "b", None).unwrap());
        assert!(!runs.abort("") && !runs.abort("c"));
        assert!(runs.abort("a"));
        assert!(one.cancel().is_cancelled() && !other.cancel().is_cancelled());
        one.report(json!({ "outcome": "aborted" }));
        assert!(!runs.abort("a"));
        runs.abort_all();
        assert!(other.cancel().is_cancelled());
    }

    #[test]
    fn runs_share_the_budget() {
        let runs = Runs::new(9, Some(3.0));
        let first = take(&runs, "a", Some(2.0)).unwrap();
        assert_eq!(first.reserved(), Some(2.0));
        // The rest, for a run without a limit of its own.
        let second = take(&runs, "b", None).unwrap();
        assert_eq!(second.reserved(), Some(1.0));
        let Err(problem) = take(&runs, "c", Some(0.5)) else { panic!("a place") };
        assert!(problem.contains("may use the rest"), "{problem}");
        drop(first);
        assert_eq!(take(&runs, "d", Some(5.0)).unwrap().reserved(), Some(2.0));
        runs.lock().spent = 3.0;
        let Err(problem) = take(&runs, "e", Some(0.5)) else { panic!("a place") };
        assert!(problem.contains("used up"), "{problem}");
        assert_eq!(take(&Runs::new(1, None), "f", Some(0.5)).unwrap().reserved(), None);
    }
}
