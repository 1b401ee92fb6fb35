//! Changes with comments that go back as a prompt, undo, and the view of a run.

use pi_ai::faux::Reply;
use pi_serve::entrance::Right;
use serde_json::{Value, json};

use super::{ENTER, Page};
use crate::home::Home;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn comments_on_lines_become_a_prompt_and_a_run_is_undone() {
    let home = Home { checkpoints: true, ..Home::new() };
    let server = home.serve().await;
    let file = home.project().join("notes.txt");
    std::fs::write(&file, "one\ntwo\nthree\n").unwrap();
    let mut driver = server.client_with("driver", Right::Drive).await;
    let session = driver.open().await;
    let edit = json!({ "path": "notes.txt", "edits": [{ "oldText": "two", "newText": "2 <b>" }] });
    home.model.push(Reply::new().tool_call("edit", &edit));
    home.model.push(Reply::new().text("Changed."));
    driver.prompt(&session, "Change it").await;
    let mut page = Page::open(server.address, &server.token("desk", Right::Drive, None));
    page.show(&format!("#/s/{session}/review"));
    page.wait("document.querySelector('.line.add')");
    assert_eq!(page.text(".line.add .text"), "2 <b>\n");
    // With the keyboard: from the first line down to the added one.
    page.run("document.querySelector('.line[tabindex=\"0\"]').focus()");
    page.keys(super::DOWN);
    page.keys(super::DOWN);
    page.wait("document.activeElement.classList.contains('add')");
    page.keys(ENTER);
    page.wait("document.activeElement.localName === 'textarea'");
    page.keys("Write it as a word.");
    page.run("[...document.querySelectorAll('.comment-form button')].at(-1).click()");
    page.wait("document.querySelector('.comment-text')");
    // The draft survives a reload.
    page.run("window.old = true; location.reload()");
    page.wait("!window.old && document.querySelector('.comment-text')?.textContent === 'Write it as a word.'");
    page.run("[...document.querySelectorAll('.review-bar button')].at(-1).click()");
    page.wait("document.querySelector('dialog[open] #review-prompt')");
    home.model.push(Reply::new().text("It is a word now."));
    page.run("[...document.querySelectorAll('dialog button')].at(-1).click()");
    page.wait("document.querySelector('.transcript')?.textContent.includes('It is a word now.')");
    let asked = format!("{:?}", home.model.requests().pop().unwrap());
    assert!(asked.contains("notes.txt, line 2:"), "{asked}");
    assert!(asked.contains("2 <b>") && asked.contains("Write it as a word."), "{asked}");
    assert_eq!(page.run("return Object.keys(localStorage).length"), 0, "no draft is left");
    // Undo takes back the last run that changed files, with the conversation since then.
    page.run("document.querySelector('[aria-label=\"Session menu\"]').click()");
    page.wait("document.querySelector('dialog[open]')");
    page.run("[...document.querySelectorAll('dialog .choice')].find(one => one.textContent === 'Undo').click()");
    page.wait("document.querySelector('dialog[open] h2')?.textContent === 'Undo the last run'");
    page.run("document.querySelector('dialog .choice').click()");
    page.wait("document.querySelector('.toast')?.textContent.includes('1 file restored')");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\nthree\n");
    page.wait("document.querySelector('.composer-text').value === 'Change it'");
    page.wait(
        "[...document.querySelectorAll('.transcript article.assistant')].every(one => one.hidden)",
    );
    assert_eq!(page.complaints(), Vec::<Value>::new());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_shows_its_limits_checks_and_outcome() {
    let home = Home::new();
    let server = home.serve().await;
    let run = home.agent().join("runs/20261119-101010-abcd");
    std::fs::create_dir_all(&run).unwrap();
    let write =
        |name: &str, value: &Value| std::fs::write(run.join(name), value.to_string()).unwrap();
    write("contract.json", &json!({ "goal": "Make <b>it</b> work" }));
    write(
        "state.json",
        &json!({ "started": "2026-11-19T10:10:10Z", "cwd": "/work", "outcome": "exhausted" }),
    );
    let check = |name: &str, passed: bool, output: &str| json!({ "name": name, "kind": "command", "passed": passed, "failures": [], "output": output, "durationMs": 1500 });
    write(
        "report.json",
        &json!({
            "goal": "Make <b>it</b> work", "reason": "The limit of requests was reached.",
            "finished": "2026-11-19T10:12:10Z",
            "checks": [check("format", true, ""), check("tests", false, "<script>1 failed</script>")],
            "limits": {
                "spent": { "turns": 30, "cost": 0.4, "wallTimeMs": 120_000 },
                "limits": { "turns": 30, "costUsd": 1.0, "wall": "1h" },
            },
        }),
    );
    let mut page = Page::open(server.address, &server.token("desk", Right::View, None));
    page.wait("document.querySelector('.main-nav [href=\"#/runs\"]')");
    page.show("#/runs");
    page.wait("document.querySelector('.run-row')");
    assert!(page.text(".run-row").contains("Make <b>it</b> work"));
    page.run("document.querySelector('.run-row').click()");
    page.wait("document.querySelector('.run-outcome')");
    let meters = page.run(
        "return [...document.querySelectorAll('[role=meter]')].map(one => `${one.getAttribute('aria-label')} ${one.firstElementChild.style.width}`)",
    );
    assert_eq!(meters, json!(["Cost 40%", "Requests 100%", "Time 3.3%"]));
    let checks = page
        .run("return [...document.querySelectorAll('.check-state')].map(one => one.textContent)");
    assert_eq!(checks, json!(["passed", "failed"]));
    assert_eq!(page.text(".check .output"), "<script>1 failed</script>");
    assert!(page.text(".run-outcome").contains("exhausted"));
    assert_eq!(page.complaints(), Vec::<Value>::new());
    server.stop().await;
}
