//! The identities of queued messages, and the context that listeners receive with an event.

use std::sync::{Arc, Mutex};

use pi_agent::{Agent, AgentEvent, QueueMode, QueuedId, RunError, SteeringDelivery};
use pi_protocol::Message;

use crate::env::{TestEnv, answer, calls, echo, user};
use crate::notation::show;

/// The queued messages that began, with the text of each.
#[derive(Clone, Default)]
struct Delivered(Arc<Mutex<Vec<(QueuedId, String)>>>);

impl Delivered {
    fn of(agent: &Agent) -> Self {
        let delivered = Self::default();
        let list = delivered.clone();
        agent
            .subscribe(move |event, context| {
                if let Some(id) = context.queued {
                    list.0.lock().unwrap().push((id, show(event)));
                }
            })
            .forever();
        delivered
    }

    fn list(&self) -> Vec<(QueuedId, String)> {
        self.0.lock().unwrap().clone()
    }
}

fn env(replies: usize) -> TestEnv {
    TestEnv::new(vec![], (0..replies).map(|_| answer()).collect(), |_| {})
}

#[tokio::test(start_paused = true)]
async fn a_queued_message_is_identified_when_it_begins() {
    let env = env(4);
    let delivered = Delivered::of(&env.agent);
    let steered = env.agent.steer(Message::user("same"));
    let first = env.agent.follow_up(Message::user("same"));
    let second = env.agent.follow_up(Message::user("same"));
    assert!(steered != first && first != second, "identities are unique");
    env.agent.prompt("same").await.unwrap();
    let begins = |id| (id, "MS(same)".to_owned());
    assert_eq!(delivered.list(), [begins(steered), begins(first), begins(second)]);
}

#[tokio::test(start_paused = true)]
async fn continue_run_identifies_the_messages_that_it_takes() {
    let env = env(3);
    env.agent.prompt("u").await.unwrap();
    let delivered = Delivered::of(&env.agent);
    let steered = env.agent.steer(Message::user("s"));
    let followed = env.agent.follow_up(Message::user("f"));
    env.agent.continue_run().await.unwrap();
    let expected = [(steered, "MS(s)".to_owned()), (followed, "MS(f)".to_owned())];
    assert_eq!(delivered.list(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_removed_message_is_not_delivered() {
    let env = env(2);
    let delivered = Delivered::of(&env.agent);
    env.agent.set_queue_modes(QueueMode::All, QueueMode::All);
    let gone = env.agent.steer(Message::user("gone"));
    let kept = env.agent.steer(Message::user("kept"));
    let also_gone = env.agent.follow_up(Message::user("also gone"));
    assert!(env.agent.remove_queued(gone));
    assert!(env.agent.remove_queued(also_gone));
    assert!(!env.agent.remove_queued(gone), "it is no longer queued");
    env.agent.prompt("u").await.unwrap();
    assert_eq!(delivered.list(), [(kept, "MS(kept)".to_owned())]);
    assert!(!env.agent.remove_queued(kept), "it was delivered");
    assert!(!env.agent.has_queued());
}

#[tokio::test(start_paused = true)]
async fn identities_survive_a_return_to_the_queue() {
    let two = vec![calls(&[("1", "echo"), ("2", "echo")]), answer(), answer()];
    let env = TestEnv::new(vec![echo()], two, |settings| {
        settings.steering_delivery = SteeringDelivery::AfterTool;
        settings.limits.turns = Some(1);
    });
    let queued: Arc<Mutex<Option<QueuedId>>> = Arc::default();
    let (agent, id) = (env.agent.clone(), Arc::clone(&queued));
    let subscription = env.agent.subscribe(move |event, _| {
        if show(event) == "XS(2)" {
            *id.lock().unwrap() = Some(agent.steer(Message::user("s")));
        }
    });
    env.agent.prompt("u").await.unwrap();
    drop(subscription);
    let queued = queued.lock().unwrap().unwrap();
    let delivered = Delivered::of(&env.agent);
    env.agent.prompt("again").await.unwrap();
    assert_eq!(delivered.list(), [(queued, "MS(s)".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn messages_after_a_failing_listener_return_to_the_queue() {
    let env = env(2);
    env.agent.set_queue_modes(QueueMode::All, QueueMode::All);
    let subscription = env.agent.subscribe_async(|event, _| async move {
        if show(&event) == "MS(one)" { Err(RunError::new("refused")) } else { Ok(()) }
    });
    env.agent.steer(Message::user("one"));
    let two = env.agent.steer(Message::user("two"));
    let three = env.agent.steer(Message::user("three"));
    env.agent.prompt("u").await.unwrap();
    drop(subscription);
    let delivered = Delivered::of(&env.agent);
    env.agent.prompt("again").await.unwrap();
    let expected = [(two, "MS(two)".to_owned()), (three, "MS(three)".to_owned())];
    assert_eq!(delivered.list(), expected);
}

#[tokio::test(start_paused = true)]
async fn listeners_receive_the_turn_index_and_the_time() {
    let replies = vec![calls(&[("1", "echo")]), answer(), answer()];
    let env = TestEnv::new(vec![echo()], replies, |_| {});
    let seen: Arc<Mutex<Vec<(String, u32)>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let before = pi_protocol::now_ms();
    env.agent
        .subscribe(move |event, context| {
            assert!((before..=pi_protocol::now_ms()).contains(&context.timestamp));
            if matches!(event, AgentEvent::TurnStart | AgentEvent::TurnEnd { .. }) {
                noted.lock().unwrap().push((show(event), context.turn_index));
            }
        })
        .forever();
    env.agent.follow_up(Message::user("f"));
    env.agent.prompt_messages(vec![user("u")]).await.unwrap();
    let expected = [("TS", 0), ("TE(1)", 0), ("TS", 1), ("TE(0)", 1), ("TS", 2), ("TE(0)", 2)];
    let expected: Vec<_> = expected.map(|(event, turn)| (event.to_owned(), turn)).into();
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn steering_delivery_can_change_during_a_run() {
    let two = vec![calls(&[("1", "echo"), ("2", "echo")]), answer()];
    let env = TestEnv::new(vec![echo().sequential()], two, |_| {});
    let agent = env.agent.clone();
    env.agent
        .subscribe(move |event, _| {
            if show(event) == "XS(1)" {
                agent.set_steering_delivery(SteeringDelivery::AfterTool);
                agent.steer(Message::user("s"));
            }
        })
        .forever();
    env.agent.prompt_messages(vec![user("u")]).await.unwrap();
    assert!(env.result("2").starts_with("Skipped"), "{}", env.result("2"));
}
