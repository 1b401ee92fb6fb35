//! Signing in by the fragment of the address, and what tokens with fewer rights see.

use pi_ai::faux::Reply;
use pi_serve::entrance::Right;
use serde_json::Value;

use super::{Page, session_with};
use crate::home::Home;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_token_in_the_fragment_becomes_a_cookie_and_leaves_no_trace() {
    let home = Home::new();
    let server = home.serve().await;
    session_with(&server, &home, "First question", Reply::new().text("First answer")).await;
    let token = server.token("phone", Right::Admin, None);
    let mut page = Page::open(server.address, &token);
    page.wait("document.querySelector('.session-row')");
    assert_eq!(page.run("return location.hash"), "#/");
    assert_eq!(page.run("return document.cookie"), "", "scripts cannot read the cookie");
    assert_eq!(page.run("return [localStorage.length, sessionStorage.length].join()"), "0,0");
    assert_eq!(page.text(".session-title"), "First question");
    let requests = page.browser.requests();
    let origin = format!("http://{}/", server.address);
    let is_own = |url: &String| {
        url.starts_with(&origin) || url.starts_with("data:") || url.starts_with("about:")
    };
    assert!(requests.iter().all(is_own), "{requests:?}");
    let fetched = requests.iter().filter(|url| !url.contains("/#t="));
    assert!(fetched.clone().count() > 20 && !fetched.clone().any(|url| url.contains(&token)));
    assert_eq!(page.complaints(), Vec::<Value>::new());
    // The cookie is enough from now on, and signing out ends that.
    page.browser.go(&origin);
    page.wait("document.querySelector('.session-row')");
    page.show("#/settings");
    page.wait("document.querySelector('.facts')");
    page.run("[...document.querySelectorAll('button')].find(one => one.textContent === 'Sign out').click()");
    page.wait("document.querySelector('.sign-in-box')");
    page.browser.go(&origin);
    page.wait("document.querySelector('.sign-in-box')");
    // A wrong token says so, and the form takes the whole address.
    page.sign_in("wrong");
    page.wait("document.querySelector('.problem')");
    page.run("document.getElementById('token').focus()");
    page.keys(&format!("{origin}#t={token}{}", super::ENTER));
    page.wait("document.querySelector('.session-row')");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_link_for_viewing_shows_one_session_and_no_composer() {
    let home = Home::new();
    let server = home.serve().await;
    let session =
        session_with(&server, &home, "The question", Reply::new().text("The answer")).await;
    session_with(&server, &home, "A secret", Reply::new().text("Nothing")).await;
    let mut owner = Page::open(server.address, &server.token("owner", Right::Admin, None));
    owner.show_session(&session);
    for (selector, words) in [
        ("[aria-label=\"Session menu\"]", ""),
        ("dialog .choice", "Link for viewing"),
        ("dialog .primary", "Create"),
    ] {
        let found = format!(
            "[...document.querySelectorAll({selector:?})].find(one => one.textContent.includes({words:?}))"
        );
        owner.wait(&found.replace(".find(", ".some("));
        owner.run(&format!("{found}.click()"));
    }
    owner.wait("document.querySelector('dialog input[readonly]')");
    let link = owner.run("return document.querySelector('dialog input[readonly]').value");
    let token = link.as_str().unwrap().split_once("#t=").unwrap().1.to_owned();
    drop(owner);
    let mut page = Page::open(server.address, &token);
    page.wait("document.querySelector('article.assistant')");
    assert_eq!(page.run("return location.hash"), format!("#/s/{session}"));
    assert!(page.text(".transcript").contains("The answer"));
    let offered = "return document.querySelectorAll('.composer, textarea, [aria-label=\"New session\"], \
                   [aria-label=\"Actions for this prompt\"], .column-list a').length";
    assert_eq!(page.run(offered), 0);
    page.run("document.querySelector('[aria-label=\"Session menu\"]').click()");
    page.wait("document.querySelector('dialog[open]')");
    let choices = page
        .run("return [...document.querySelectorAll('dialog .choice')].map(one => one.textContent)");
    let expected = serde_json::json!(["Changes and review", "Branches", "Export as a page"]);
    assert_eq!(choices, expected);
    assert!(!page.run("return document.body.textContent").as_str().unwrap().contains("A secret"));
    assert_eq!(page.complaints(), Vec::<Value>::new());
    server.stop().await;
}
