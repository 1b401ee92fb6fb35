//! Answers while they arrive: no character is lost or doubled when the connection is cut.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_ai::faux::Reply;
use pi_serve::entrance::Right;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;

use super::{ENTER, ESCAPE, Page, session_with};
use crate::home::Home;

/// Passes connections on to a server, until they are cut.
struct Relay {
    address: SocketAddr,
    target: Arc<Mutex<SocketAddr>>,
    cut: broadcast::Sender<()>,
}

impl Relay {
    async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (cut, _) = broadcast::channel(1);
        let target = Arc::new(Mutex::new(target));
        let (cutter, to) = (cut.clone(), Arc::clone(&target));
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let (mut end, to) = (cutter.subscribe(), *to.lock().unwrap());
                tokio::spawn(async move {
                    let Ok(mut far) = TcpStream::connect(to).await else { return };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                        _ = end.recv() => {}
                    }
                });
            }
        });
        Self { address, target, cut }
    }

    /// Passes new connections on to another server.
    fn lead_to(&self, target: SocketAddr) {
        *self.target.lock().unwrap() = target;
    }

    /// Cuts all connections.
    fn cut(&self) {
        // Without a connection there is nothing to cut.
        let _ = self.cut.send(());
    }
}

/// Notes in the page every text of the message in flight that is not the beginning of the answer.
const OBSERVE: &str = "window.odd = []; window.seen = 0;
    const check = () => {
        const live = document.querySelector('.in-flight .prose.flowing');
        if (!live) return;
        window.seen += 1;
        if (!window.whole.startsWith(live.textContent)) window.odd.push(live.textContent);
    };
    new MutationObserver(check).observe(document.querySelector('.session'), { subtree: true, childList: true, characterData: true });";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_answer_over_a_connection_that_is_cut_ends_as_it_was_written() {
    let home = Home::new();
    let server = home.serve().await;
    let mut driver = server.client_with("driver", Right::Drive).await;
    let session = driver.open().await;
    let relay = Relay::start(server.address).await;
    let token = server.token("laptop", Right::Approve, None);
    let mut page = Page::open(relay.address, &token);
    page.show_session(&session);
    page.wait("document.activeElement.classList.contains('composer-text')");
    let words: Vec<String> = (0..600).map(|number| format!("w{number} ")).collect();
    let text = words.concat().trim_end().to_owned();
    let reply = Reply::new().text(text.clone()).chunks_of(7);
    home.model.push(reply.wait_between(Duration::from_millis(8)));
    page.run(&format!("window.whole = {text:?}"));
    page.run(OBSERVE);
    page.keys(&format!("count{ENTER}"));
    for progress in [100, 900, 1800] {
        let reached = format!(
            "(document.querySelector('.in-flight .prose.flowing')?.textContent.length ?? 0) > {progress}"
        );
        page.wait(&reached);
        relay.cut();
        page.wait("document.getElementById('status').dataset.state === 'lost'");
        page.wait("document.getElementById('status').dataset.state === 'live'");
    }
    page.wait("document.querySelector('article.assistant:not(.in-flight)')");
    assert_eq!(page.text("article.assistant .prose").trim(), text);
    assert_eq!(page.run("return window.odd"), serde_json::json!([]));
    assert!(page.run("return window.seen").as_u64().unwrap() > 20);
    page.wait("document.querySelector('.stop').hidden");
    let articles =
        "return [...document.querySelectorAll('.session article')].map(one => one.className)";
    let shown = page.run(articles);
    let count = |kind: &str| shown.as_array().unwrap().iter().filter(|name| **name == kind).count();
    assert_eq!((count("user"), count("assistant")), (1, 1), "{shown}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_page_outlives_its_server() {
    let home = Home::new();
    let server = home.serve().await;
    let session = session_with(&server, &home, "Before", Reply::new().text("First.")).await;
    let relay = Relay::start(server.address).await;
    let mut page = Page::open(relay.address, &server.token("laptop", Right::Approve, None));
    page.show_session(&session);
    page.wait("document.querySelector('article.assistant')");
    page.run("document.querySelector('.composer-text').focus()");
    page.keys("A draft");
    server.stop().await;
    relay.cut();
    page.wait(
        "document.getElementById('status-text').textContent.startsWith('reconnecting, as of ')",
    );
    let again = home.serve().await;
    relay.lead_to(again.address);
    page.wait("document.getElementById('status').dataset.state === 'live'");
    page.wait("document.querySelector('.toast')?.textContent.includes('restarted')");
    assert_eq!(page.run("return document.querySelector('.composer-text').value"), "A draft");
    home.model.push(Reply::new().text("Second."));
    page.keys(ENTER);
    page.wait("[...document.querySelectorAll('article.assistant')].some(one => one.textContent.includes('Second.'))");
    let prompts = page.run("return [...document.querySelectorAll('article.user .prose')].map(one => one.textContent.trim())");
    assert_eq!(prompts, serde_json::json!(["Before", "A draft"]));
    again.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_session_of_another_server_is_followed_and_taken_over() {
    let home = Home::new();
    let (here, there) = (home.serve().await, home.serve().await);
    let session = session_with(&there, &home, "Over there", Reply::new().text("First.")).await;
    let mut page = Page::open(here.address, &here.token("laptop", Right::Approve, None));
    page.show_session(&session);
    page.wait("document.querySelector('.banner')?.textContent.includes('Another process')");
    page.wait("document.querySelector('.composer').hidden");
    // What happens there is seen here.
    let mut driver = there.client_with("other", Right::Drive).await;
    driver.ask(serde_json::json!({ "type": "attach", "sessionId": session })).await;
    home.model.push(Reply::new().text("Second."));
    driver.prompt(&session, "More").await;
    page.wait("document.querySelector('.transcript').textContent.includes('Second.')");
    drop(driver);
    page.run("[...document.querySelectorAll('.banner button')].find(one => one.textContent === 'Take over').click()");
    page.wait("!document.querySelector('.composer').hidden");
    page.wait("document.querySelector('.banner').hidden");
    home.model.push(Reply::new().text("Third."));
    page.run("document.querySelector('.composer-text').focus()");
    page.keys(&format!("Mine{ENTER}"));
    page.wait("document.querySelector('.transcript').textContent.includes('Third.')");
    here.stop().await;
    there.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_session_is_driven_with_the_keyboard_alone() {
    let home = Home::new();
    let server = home.serve().await;
    std::fs::write(home.project().join("notes of today.txt"), "x").unwrap();
    let token = server.token("keyboard", Right::Admin, None);
    let mut page = Page::open(server.address, &token);
    page.wait("document.querySelector('[aria-label=\"New session\"]')");
    // From the search to the button beside it, and through its dialog.
    page.wait("document.querySelector('input[type=search]')");
    page.run("document.activeElement.blur()");
    page.keys("/");
    page.wait("document.activeElement.type === 'search'");
    page.keys("\u{e004}");
    page.wait("document.activeElement.getAttribute('aria-label') === 'New session'");
    page.keys(ENTER);
    page.wait("document.querySelector('dialog[open] #new-directory')?.value");
    page.run("document.getElementById('new-name').focus()");
    page.keys(&format!("Made by keys{ENTER}"));
    page.wait("document.activeElement.classList.contains('composer-text')");
    page.wait("document.querySelector('.session-name').textContent === 'Made by keys'");
    // A name of a file, completed.
    page.keys("read @today");
    page.wait("document.querySelectorAll('.completions li').length === 1");
    page.keys(ENTER);
    page.wait("document.querySelector('.composer-text').value === 'read @\"notes of today.txt\" '");
    // An answer that does not end is stopped with Escape.
    home.model.push(Reply::new().text("It begins and").hang());
    page.keys(ENTER);
    page.wait("document.querySelector('.in-flight')?.textContent.includes('It begins and')");
    page.keys("\u{e004}");
    page.run("document.querySelector('.composer-text').focus()");
    page.keys(ESCAPE);
    page.wait(
        "document.querySelector('article.assistant .failure')?.textContent.includes('Aborted')",
    );
    page.wait("document.querySelector('.stop').hidden");
    // Screen readers are told.
    page.wait("document.getElementById('announcer').textContent.includes('aborted')");
    assert_eq!(page.complaints(), Vec::<Value>::new());
    server.stop().await;
}
