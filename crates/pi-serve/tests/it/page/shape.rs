//! Every screen at the widths of a phone, a tablet and a desk: no horizontal scrolling, targets for
//! fingers, names for screen readers; and windows of long sessions.

use pi_ai::faux::Reply;
use pi_serve::entrance::Right;
use serde_json::{Value, json};

use super::{DOWN, ENTER, Page, session_with};
use crate::home::Home;

/// Returns what is wrong with the shape of a screen.
const WRONG: &str = "const wrong = [];
    const main = document.getElementById('main');
    for (const box of [document.documentElement, main, document.querySelector('.scroller')]) {
        if (box && box.scrollWidth > box.clientWidth) wrong.push(`${box.id || box.className} is ${box.scrollWidth} wide`);
    }
    const controls = 'button, a[href], input, select, textarea, summary, [role=button]';
    for (const element of document.querySelectorAll(controls)) {
        if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
        if (element.closest('.prose, .skip, .line, .unseen')) continue;
        const name = element.getAttribute('aria-label') || element.textContent.trim() || element.labels?.[0]?.textContent || element.title;
        if (!name) wrong.push(`no name: ${element.outerHTML.slice(0, 90)}`);
        const { width, height } = element.getBoundingClientRect();
        const target = element.matches('input[type=checkbox], input[type=radio]') ? element.closest('label').getBoundingClientRect() : { width, height };
        if (innerWidth < 700 && (target.height < 38 || target.width < 38)) wrong.push(`${Math.round(target.width)} x ${Math.round(target.height)}: ${name.slice(0, 40)}`);
    }
    const headings = [...document.querySelectorAll('h1')].filter((one) => one.checkVisibility());
    if (headings.length !== 1) wrong.push(`${headings.length} headings of the first level`);
    return wrong";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_screen_fits_every_width() {
    let home = Home { profile: Some("careful"), ..Home::new() };
    let server = home.serve().await;
    let long = "unbroken".repeat(60);
    let text = format!(
        "{long}\n\n```rust\nlet a = \"{long}\";\n```\n\n| a | b |\n|---|---|\n| {long} | {long} |\n\n`{long}`"
    );
    let session = session_with(&server, &home, &long, Reply::new().text(text)).await;
    let mut driver = server.client_with("driver", Right::Drive).await;
    let content = json!({ "path": format!("{}.txt", &long[..200]), "content": long });
    home.model.push(Reply::new().tool_call("write", &content));
    let prompt = json!({ "type": "prompt", "message": long, "sessionId": session });
    driver.ask(prompt).await;
    let mut page = Page::open(server.address, &server.token("desk", Right::Admin, None));
    let screens = [
        ("#/".to_owned(), ".session-row, .welcome"),
        (format!("#/s/{session}"), ".question"),
        ("#/needs".to_owned(), ".question"),
        (format!("#/s/{session}/tree"), ".tree-row"),
        (format!("#/s/{session}/review"), ".empty, .lead"),
        ("#/runs".to_owned(), ".empty, .run-row"),
        ("#/settings".to_owned(), ".token"),
    ];
    for width in [390, 768, 1440] {
        page.resize(width, 844);
        for (screen, ready) in &screens {
            page.show(screen);
            page.wait(&format!("document.querySelector({ready:?})"));
            assert_eq!(page.run(WRONG), json!([]), "{screen} at {width}");
        }
    }
    assert_eq!(page.complaints(), Vec::<Value>::new());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_long_session_is_shown_in_windows_and_its_branches_as_a_tree() {
    let home = Home::new();
    let server = home.serve().await;
    let mut driver = server.client_with("driver", Right::Drive).await;
    let session = driver.open().await;
    for number in 0..90 {
        home.model.push(Reply::new().text(format!("Answer {number}.")));
        driver.prompt(&session, &format!("Question {number}?")).await;
    }
    let mut page = Page::open(server.address, &server.token("desk", Right::Drive, None));
    page.show_session(&session);
    page.wait("document.querySelector('.transcript').textContent.includes('Answer 89.')");
    let count = "document.querySelectorAll('article').length";
    assert!(page.run(&format!("return {count}")).as_u64().unwrap() < 80);
    let at_end = "(() => { const one = document.querySelector('.scroller'); return one.scrollHeight - one.scrollTop - one.clientHeight < 4; })()";
    page.wait(at_end);
    // What is above comes when it is needed, until the first entry.
    page.run("setInterval(() => document.querySelector('.scroller').scrollTop = 0, 30)");
    page.wait("document.querySelector('.transcript').textContent.includes('Question 0?')");
    page.wait("document.querySelector('.older').hidden");
    let texts = page.run("return [...document.querySelectorAll('article.user .prose')].map(one => one.textContent.trim())");
    let expected: Vec<String> = (0..90).map(|number| format!("Question {number}?")).collect();
    assert_eq!(texts, json!(expected));
    // Back to an earlier prompt: its branch ends there, and the prompt can be edited.
    page.show(&format!("#/s/{session}/tree"));
    page.wait("document.querySelectorAll('.tree-row').length >= 90");
    page.run("document.querySelectorAll('.tree-row')[1].focus()");
    page.keys(&format!("{DOWN}{ENTER}"));
    page.wait("document.querySelector('dialog[open] .choice')");
    let title = page.text("dialog h2");
    page.run("document.querySelector('dialog .choice').click()");
    page.wait("document.querySelector('.composer-text')?.value.startsWith('Question')");
    assert_eq!(page.run("return document.querySelector('.composer-text').value"), title);
    home.model.push(Reply::new().text("Another answer."));
    page.run("document.querySelector('.composer-text').focus()");
    page.keys(ENTER);
    page.wait("document.querySelector('.transcript').textContent.includes('Another answer.')");
    let shown = "[...document.querySelectorAll('article.user')].filter(one => !one.hidden).length";
    assert!(page.run(&format!("return {shown}")).as_u64().unwrap() < 10);
    server.stop().await;
}
