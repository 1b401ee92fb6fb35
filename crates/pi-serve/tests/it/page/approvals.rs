//! Questions in two browsers: both show them, the first answer wins, the other is told.

use pi_ai::faux::Reply;
use pi_serve::entrance::Right;
use serde_json::json;

use super::Page;
use crate::home::Home;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_approval_is_shown_everywhere_and_answered_once() {
    let home = Home { profile: Some("careful"), ..Home::new() };
    let server = home.serve().await;
    let mut driver = server.client_with("driver", Right::Drive).await;
    let session = driver.open().await;
    let mut desk = Page::open(server.address, &server.token("desk", Right::Approve, None));
    let mut phone = Page::open(server.address, &server.token("phone", Right::Approve, None));
    // One looks at the session, the other at the list of all questions.
    desk.show_session(&session);
    phone.show("#/needs");
    phone.wait("document.querySelector('.empty')");
    for name in ["first.txt", "second.txt"] {
        let arguments = json!({ "path": name, "content": "new\n" });
        home.model.push(Reply::new().tool_call("write", &arguments));
    }
    home.model.push(Reply::new().text("Done."));
    driver.ask(json!({ "type": "prompt", "message": "go" })).await;
    for page in [&mut desk, &mut phone] {
        page.wait("document.querySelector('.question-what')?.textContent.includes('first.txt')");
        page.wait("document.title.startsWith('(1) ')");
    }
    desk.wait("document.querySelector('.tool .state')?.textContent === 'needs approval'");
    let allow = "[...document.querySelectorAll('.question button')].find(one => one.textContent === 'Allow once').click()";
    phone.run(allow);
    desk.wait("document.querySelector('.toast')?.textContent.includes('Answered by phone')");
    for page in [&mut desk, &mut phone] {
        page.wait("document.querySelector('.question-what')?.textContent.includes('second.txt')");
    }
    // A refusal has a reason, which the model reads.
    desk.run("document.querySelector('.question .refusal input').focus()");
    desk.keys(&format!("one file is enough{}", super::ENTER));
    phone.wait("!document.querySelector('.question')");
    phone.wait("!document.title.startsWith('(')");
    desk.wait("[...document.querySelectorAll('article.assistant')].some(one => one.textContent.includes('Done.'))");
    assert!(home.project().join("first.txt").exists());
    assert!(!home.project().join("second.txt").exists());
    let last = home.model.requests().pop().unwrap();
    assert!(format!("{last:?}").contains("one file is enough"));
    server.stop().await;
}
