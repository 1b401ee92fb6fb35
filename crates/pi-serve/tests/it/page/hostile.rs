//! Markup in every field: nothing of it becomes an element, runs, or leaves the page.

use pi_ai::faux::Reply;
use pi_serve::entrance::Right;
use serde_json::{Value, json};

use super::Page;
use crate::home::Home;

/// Text that would run if it became markup anywhere: in an element, an attribute, a script.
const HOSTILE: &str = "</pre></textarea></title><img src=x onerror=window.ran=1><script>window.ran=1</script>\"'><svg onload=window.ran=1><a href=javascript:window.ran=1>x</a><style>*{display:none}</style>";

/// The elements and attributes that no text of a session may lead to.
const ODD: &str = "const odd = [];
    for (const element of document.querySelectorAll('*')) {
        if (/^(iframe|object|embed|form|base|style|video|audio|template|math)$/.test(element.localName)) odd.push(element.localName);
        if (element.localName === 'svg' && !element.classList.contains('icon')) odd.push('svg');
        for (const { name, value } of element.attributes) {
            if (/^on|^srcdoc|^action/.test(name)) odd.push(name);
            if (/^(href|src)$/.test(name) && /^\\s*(javascript|vbscript|https?):/i.test(value)) odd.push(value);
        }
    }
    if (document.scripts.length !== 1) odd.push('script');
    if (window.ran) odd.push('it ran');
    return odd";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn text_of_sessions_never_becomes_markup() {
    let home = Home { profile: Some("careful"), ..Home::new() };
    let server = home.serve().await;
    let name = "<img src=x onerror=window.ran=1>.txt";
    std::fs::write(home.project().join(name), HOSTILE).unwrap();
    let mut driver = server.client_with("driver", Right::Approve).await;
    let session = driver.open().await;
    driver.ask(json!({ "type": "set_session_name", "name": HOSTILE, "sessionId": session })).await;
    let thinking = Reply::new().thinking(HOSTILE).text(HOSTILE);
    home.model.push(thinking.tool_call("read", &json!({ "path": name })));
    home.model.push(Reply::new().raw_tool_call(HOSTILE, HOSTILE, "{\"<b>\": \"<i>\"}"));
    home.model.push(
        Reply::new()
            .text(format!("```html\n{HOSTILE}\n```\n\n[x](javascript:window.ran=1) {HOSTILE}")),
    );
    driver.prompt(&session, HOSTILE).await;
    home.model.push(Reply::new().text(HOSTILE).fail(HOSTILE));
    driver.prompt(&session, &format!("# {HOSTILE}")).await;
    let mut page = Page::open(server.address, &server.token("desk", Right::Admin, None));
    page.wait("document.querySelector('.session-row')");
    assert_eq!(page.run(ODD), json!([]), "the list");
    page.show_session(&session);
    page.wait("document.querySelectorAll('article').length >= 5");
    page.run("for (const one of document.querySelectorAll('details')) one.open = true");
    assert_eq!(page.run(ODD), json!([]), "the transcript");
    let shown = page.text(".transcript");
    assert!(shown.matches("<script>window.ran=1</script>").count() >= 6, "{shown}");
    // While it streams, as a question, and in the menu.
    let content = json!({ "path": name, "content": HOSTILE });
    home.model.push(Reply::new().text(HOSTILE).chunks_of(5).tool_call("write", &content));
    driver.ask(json!({ "type": "prompt", "message": "again", "sessionId": session })).await;
    page.wait("document.querySelector('.question-what')");
    assert_eq!(page.run(ODD), json!([]), "the question");
    page.run("document.querySelector('[aria-label=\"Session menu\"]').click()");
    page.wait("document.querySelector('dialog[open]')");
    assert_eq!(page.run(ODD), json!([]), "the menu");
    page.run("document.querySelector('dialog').close()");
    for (screen, ready) in [
        ("#/needs", ".question"),
        (&format!("#/s/{session}/tree"), ".tree-row"),
        (&format!("#/s/{session}/review"), ".lead, .empty"),
        ("#/settings", ".token"),
    ] {
        page.show(screen);
        page.wait(&format!("document.querySelector({ready:?})"));
        assert_eq!(page.run(ODD), json!([]), "{screen}");
    }
    page.run("document.querySelector('input[type=search]').focus()");
    page.keys("window");
    page.wait("document.querySelector('.session-snippet')");
    assert_eq!(page.run(ODD), json!([]), "the search");
    assert!(page.run("return document.title").as_str().unwrap().ends_with("· pi"));
    let complaints = page.complaints();
    assert_eq!(complaints, Vec::<Value>::new(), "nothing was refused, because nothing was tried");
    let requests = page.browser.requests();
    let origin = format!("http://{}/", server.address);
    let is_own = |url: &String| url.starts_with(&origin) || url.starts_with("data:");
    assert!(requests.iter().all(is_own), "{requests:?}");
    server.stop().await;
}
