//! Several clients of one session: the first answer wins, the others are told, and who answered is
//! recorded.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_agent::BoxFuture;
use pi_coding_agent::extension::{Dialog, DialogAnswer, Ui, UiUpdate};
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest};
use pi_host::ui_hub::{Absence, NewClient, UiHub};
use tokio::sync::{mpsc, oneshot};

/// A client whose user answers when the test says so.
pub(crate) struct Client {
    asked: mpsc::UnboundedSender<(String, oneshot::Sender<Option<String>>)>,
    log: Arc<Mutex<Vec<String>>>,
}

/// The side of the test.
pub(crate) struct User {
    questions: mpsc::UnboundedReceiver<(String, oneshot::Sender<Option<String>>)>,
    log: Arc<Mutex<Vec<String>>>,
}

pub(crate) fn client() -> (Arc<Client>, User) {
    let (asked, questions) = mpsc::unbounded_channel();
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    (Arc::new(Client { asked, log: Arc::clone(&log) }), User { questions, log })
}

impl User {
    /// Waits for the next question.
    pub(crate) async fn question(&mut self) -> (String, oneshot::Sender<Option<String>>) {
        self.questions.recv().await.unwrap()
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

/// Notes that a dialog is closed.
struct Dropped(Arc<Mutex<Vec<String>>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.lock().unwrap().push("closed".to_owned());
    }
}

impl Client {
    async fn ask(&self, title: String) -> Option<String> {
        let (answer, answered) = oneshot::channel();
        self.asked.send((title, answer)).unwrap();
        let closed = Dropped(Arc::clone(&self.log));
        let answer = answered.await.unwrap();
        std::mem::forget(closed);
        answer
    }
}

impl Ui for Client {
    fn is_present(&self) -> bool {
        true
    }

    fn dialog(&self, dialog: Dialog, _: Option<Duration>) -> BoxFuture<'_, Option<DialogAnswer>> {
        let title = dialog.title().to_owned();
        Box::pin(async move { self.ask(title).await.map(DialogAnswer::Text) })
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(async move {
            match self.ask(request.what.clone()).await {
                Some(_) => ApprovalDecision::Once,
                None => ApprovalDecision::Deny { reason: None },
            }
        })
    }

    fn update(&self, update: UiUpdate) {
        self.log.lock().unwrap().push(format!("{update:?}"));
    }
}

pub(crate) fn named(name: &str, ui: Arc<dyn Ui>) -> NewClient {
    NewClient::new(Some(name.to_owned()), ui)
}

fn question(title: &str) -> Dialog {
    Dialog::Input { title: title.to_owned(), placeholder: None }
}

/// Asks in a task of its own.
fn ask(hub: &UiHub, title: &str) -> tokio::task::JoinHandle<Option<DialogAnswer>> {
    let (hub, dialog) = (hub.clone(), question(title));
    tokio::spawn(async move { hub.dialog(dialog, None).await })
}

#[tokio::test]
async fn the_first_answer_wins_and_the_others_are_told() {
    let hub = UiHub::new(Absence::Decline);
    let records: Arc<Mutex<Vec<String>>> = Arc::default();
    let recorded = Arc::clone(&records);
    hub.set_recorder(Arc::new(move |answered| {
        recorded.lock().unwrap().push(serde_json::to_string(answered).unwrap());
    }));
    let ((desk, mut at_desk), (phone, mut at_phone)) = (client(), client());
    let _desk = hub.attach(named("desk", desk));
    let _phone = hub.attach(named("phone", phone));
    let asked = ask(&hub, "Which?");
    let (title, _late) = at_desk.question().await;
    assert_eq!(title, "Which?");
    let (_, answer) = at_phone.question().await;
    assert_eq!(hub.open_questions().len(), 1);
    answer.send(Some("this".to_owned())).unwrap();
    assert_eq!(asked.await.unwrap(), Some(DialogAnswer::Text("this".to_owned())));
    assert_eq!(hub.open_questions(), []);
    let told = at_desk.log();
    assert_eq!(told[0], "closed");
    assert!(told[1].contains("phone answered: Which?"), "{told:?}");
    assert_eq!(at_phone.log(), [""; 0], "the one who answered needs no notice");
    let expected = r#"{"kind":"dialog","title":"Which?","answer":"this","by":"phone"}"#;
    assert_eq!(*records.lock().unwrap(), [expected]);
}

#[tokio::test]
async fn a_client_that_comes_later_gets_open_questions_and_what_is_shown() {
    let hub = UiHub::new(Absence::Wait);
    assert!(hub.is_present(), "a question would wait");
    hub.update(UiUpdate::SetTitle { title: "work".to_owned() });
    let asked = ask(&hub, "Go on?");
    let (first, mut at_first) = client();
    let attached = hub.attach(NewClient::new(None, first));
    let _unanswered = at_first.question().await;
    // The connection is cut before there is an answer: the question stays.
    attached.detach();
    let (second, mut at_second) = client();
    let _second = hub.attach(NewClient::new(None, second));
    let (_, answer) = at_second.question().await;
    assert!(at_second.log()[0].contains("work"), "{:?}", at_second.log());
    answer.send(None).unwrap();
    assert_eq!(asked.await.unwrap(), None, "closing a dialog is an answer");
}

#[tokio::test]
async fn without_a_client_a_question_is_declined() {
    let hub = UiHub::new(Absence::Decline);
    assert!(!hub.is_present());
    assert_eq!(hub.dialog(question("Go on?"), None).await, None);
    let request = ApprovalRequest::new("bash", "call", "rm -r build", "/", Vec::new());
    assert_eq!(hub.approve(&request).await, ApprovalDecision::Deny { reason: None });
}

#[tokio::test]
async fn an_approval_reaches_all_and_a_cancelled_question_closes_everywhere() {
    let hub = UiHub::new(Absence::Decline);
    let ((one, mut at_one), (other, mut at_other)) = (client(), client());
    let (_one, _other) =
        (hub.attach(NewClient::new(None, one)), hub.attach(NewClient::new(None, other)));
    let asking = hub.clone();
    let decided = tokio::spawn(async move {
        let request = ApprovalRequest::new("bash", "call", "rm -r build", "/", Vec::new());
        asking.approve(&request).await
    });
    let (what, answer) = at_one.question().await;
    assert_eq!(what, "rm -r build");
    let _open = at_other.question().await;
    answer.send(Some("yes".to_owned())).unwrap();
    assert_eq!(decided.await.unwrap(), ApprovalDecision::Once);
    let asked = ask(&hub, "Stop?");
    let (_one, _other) = (at_one.question().await, at_other.question().await);
    asked.abort();
    assert!(asked.await.unwrap_err().is_cancelled());
    assert_eq!(at_one.log().last().unwrap(), "closed");
    assert_eq!(at_other.log().last().unwrap(), "closed");
    assert_eq!(hub.open_questions(), []);
}
