//! Exported pages in a real browser: display, interaction and safety.

use std::path::{Path, PathBuf};

use pi_protocol::{AssistantBlock, AssistantMessage, Message, StopReason, Tool, UserBlock};
use pi_session::{HtmlOptions, OpenOptions, Session};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::effects::resolver;
use crate::webdriver::Browser;

/// An image of one red pixel.
pub(crate) const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

pub(crate) fn answer(blocks: Vec<AssistantBlock>) -> Message {
    Message::Assistant(
        AssistantMessage {
            content: blocks,
            provider: "anthropic".to_owned(),
            model: "claude".to_owned(),
            stop_reason: StopReason::Stop,
            ..AssistantMessage::default()
        }
        .into(),
    )
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> AssistantBlock {
    let Value::Object(arguments) = arguments else { panic!("{arguments} is not an object") };
    AssistantBlock::tool_call(id, name, arguments)
}

pub(crate) fn result(id: &str, name: &str, text: &str) -> Message {
    let AssistantBlock::ToolCall(call) = call(id, name, json!({})) else { unreachable!() };
    Message::tool_result(&call, vec![UserBlock::text(text)], false)
}

fn page(directory: &TempDir, name: &str, session: &mut Session) -> PathBuf {
    let path = directory.path().join(name);
    let mut file = std::io::BufWriter::new(std::fs::File::create_new(&path).unwrap());
    session.export_html(&HtmlOptions::default().effects(resolver()), &mut file).unwrap();
    path
}

/// A page with two branches. The second one is current; the first has an image and a tool call.
struct Forked {
    page: PathBuf,
    first: String,
    result: String,
    second: String,
}

fn forked(directory: &TempDir) -> Forked {
    let mut session = Session::in_memory("/proj");
    session.append_message(Message::system("Be brief.")).unwrap();
    session.append_message(Message::user("Where do swallows go?")).unwrap();
    let fork = session.append_message(answer(vec![AssistantBlock::text("South.")])).unwrap();
    let text = UserBlock::text("First try");
    let first = session
        .append_message(Message::user_blocks(vec![text, UserBlock::image(DOT, "image/png")]))
        .unwrap();
    let calls = vec![
        AssistantBlock::thinking("Let me see."),
        call("c1", "bash", json!({"command": "fly south"})),
    ];
    session.append_message(answer(calls)).unwrap();
    let result = session.append_message(result("c1", "bash", "an unladen needle")).unwrap();
    for number in 0..60 {
        session.append_message(Message::user(format!("Filler {number}\n\n\n\nmore"))).unwrap();
    }
    session.branch(&fork).unwrap();
    let second = session.append_message(Message::user("Second try")).unwrap();
    session.append_message(answer(vec![AssistantBlock::text("Also a needle.")])).unwrap();
    Forked { page: page(directory, "forked.html", &mut session), first, result, second }
}

/// Returns true if an entry and its section are visible.
fn seen(browser: &mut Browser, id: &str) -> bool {
    let script = format!("return document.getElementById('{id}').checkVisibility()");
    browser.run(&script).as_bool().unwrap()
}

#[test]
fn pages_in_a_browser() {
    let directory = TempDir::new().unwrap();
    let forked = forked(&directory);
    let mut browser = Browser::start();
    branches_are_switched_by_links_and_by_keyboard(&mut browser, &forked);
    links_lead_to_entries_on_any_branch(&mut browser, &forked);
    search_finds_matches_in_hidden_branches(&mut browser, &forked);
    cards_open_and_images_are_shown(&mut browser, &forked);
    the_theme_is_stored_if_storage_is_available(&mut browser, &forked);
    a_long_session_has_a_short_outline(&mut browser, &directory);
    hostile_content_has_no_effect(&mut browser, &directory);
}

fn branches_are_switched_by_links_and_by_keyboard(browser: &mut Browser, forked: &Forked) {
    browser.open(&forked.page, "");
    assert!(seen(browser, &forked.second) && !seen(browser, &forked.first));
    let current = "return document.querySelector('.fork [aria-current]').textContent";
    assert_eq!(browser.run(current), "Second try");
    browser.run("[...document.querySelectorAll('.fork a')].find(a => a.textContent === 'First try').click()");
    browser.wait("document.querySelector('.fork [aria-current]').textContent === 'First try'");
    assert!(!seen(browser, &forked.second) && seen(browser, &forked.first));
    // The last row of the outline is the end of the second branch; the row above is its beginning.
    browser.run("document.querySelector('.row[tabindex=\"0\"]').focus()");
    browser.type_keys("\u{e010}");
    browser.wait("document.activeElement.textContent.includes('Also a needle')");
    browser.type_keys("\u{e013}");
    browser.wait("document.activeElement.textContent === 'Second try'");
    browser.type_keys("\u{e007}");
    browser.wait("document.querySelector('.fork [aria-current]').textContent === 'Second try'");
    assert!(seen(browser, &forked.second) && !seen(browser, &forked.first));
    assert_eq!(browser.run("return location.hash"), format!("#{}", forked.second));
    assert_eq!(browser.log("browser"), Vec::<Value>::new());
}

fn links_lead_to_entries_on_any_branch(browser: &mut Browser, forked: &Forked) {
    for (id, elsewhere) in [(&forked.result, &forked.second), (&forked.second, &forked.first)] {
        browser.open(&forked.page, &format!("#{id}"));
        let in_sight = format!(
            "(() => {{ const box = document.getElementById('{id}').getBoundingClientRect(); \
             return box.height > 0 && box.top >= 0 && box.top < innerHeight; }})()"
        );
        browser.wait(&in_sight);
        assert!(!seen(browser, elsewhere));
    }
    browser.open(&forked.page, &format!("#{}", forked.result));
    let open = format!("return document.getElementById('{}').open", forked.result);
    assert_eq!(browser.run(&open), true);
    // Unknown and malformed links change nothing.
    for fragment in ["#unknown", "#%", "#%00", "#\"]"] {
        browser.open(&forked.page, fragment);
        assert!(seen(browser, &forked.second), "{fragment}");
        assert_eq!(browser.log("browser"), Vec::<Value>::new(), "{fragment}");
    }
}

fn search_finds_matches_in_hidden_branches(browser: &mut Browser, forked: &Forked) {
    browser.open(&forked.page, "");
    browser.run("document.querySelector('input').focus()");
    browser.type_keys("NEEDLE");
    browser.wait("document.querySelector('output').textContent === '2'");
    let groups = "return [...document.querySelectorAll('.found .group')].map(g => g.textContent)";
    assert_eq!(browser.run(groups), json!(["This branch", "Other branches"]));
    assert_eq!(browser.run("return CSS.highlights.get('found').size"), 1);
    browser.run("document.querySelector('[data-do=next]').click()");
    browser.wait("document.querySelector('output').textContent === '1/2'");
    assert!(seen(browser, &forked.second));
    browser.run("document.querySelector('[data-do=next]').click()");
    browser.wait("document.querySelector('output').textContent === '2/2'");
    assert!(seen(browser, &forked.result) && !seen(browser, &forked.second));
    let now = "return [...CSS.highlights.get('found-now')].map(String)";
    assert_eq!(browser.run(now), json!(["needle"]));
    let open = format!("return document.getElementById('{}').open", forked.result);
    assert_eq!(browser.run(&open), true, "a match in a closed card opens it");
    browser.run("document.querySelector('[data-do=previous]').click()");
    browser.wait("document.querySelector('output').textContent === '1/2'");
    assert!(seen(browser, &forked.second));
    // The list of matches also navigates.
    browser.run("document.querySelectorAll('.found a')[1].click()");
    browser.wait("document.querySelector('output').textContent === '2/2'");
    assert!(seen(browser, &forked.first));
    browser.run("document.querySelector('input').focus()");
    browser.type_keys("\u{e00c}");
    browser.wait("document.querySelector('.found').hidden");
    browser.type_keys("not there");
    browser.wait("document.querySelector('.found').textContent === 'No matches'");
    assert_eq!(browser.log("browser"), Vec::<Value>::new());
}

fn cards_open_and_images_are_shown(browser: &mut Browser, forked: &Forked) {
    browser.open(&forked.page, &format!("#{}", forked.first));
    browser.wait("document.querySelector('img').complete");
    assert_eq!(browser.run("return document.querySelector('img').naturalWidth"), 1);
    let output = "return document.querySelector('.tool .output').checkVisibility()";
    assert_eq!(browser.run(output), false);
    browser.run("document.querySelector('.tool > summary').click()");
    browser.wait("document.querySelector('.tool .output').checkVisibility()");
    browser.run("document.querySelector('.tool > summary').click()");
    browser.wait("!document.querySelector('.tool .output').checkVisibility()");
    browser.run("document.querySelector('[data-do=expand]').click()");
    assert_eq!(browser.run(output), true);
    let closed = "return document.querySelectorAll('details:not([open])').length";
    assert_eq!(browser.run(closed), 0);
}

fn the_theme_is_stored_if_storage_is_available(browser: &mut Browser, forked: &Forked) {
    let background = "return getComputedStyle(document.body).backgroundColor";
    let scheme =
        |value: &str| json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
    browser.open(&forked.page, "");
    browser.devtools("Emulation.setEmulatedMedia", &scheme("light"));
    let light = browser.run(background);
    browser.devtools("Emulation.setEmulatedMedia", &scheme("dark"));
    let dark = browser.run(background);
    assert_ne!(light, dark);
    let press = "document.querySelector('[data-do=theme]').click()";
    browser.run(press);
    assert_eq!(browser.run(background), light);
    browser.open(&forked.page, "");
    assert_eq!(browser.run(background), light, "stored");
    browser.run(press);
    assert_eq!(browser.run(background), dark);
    browser.devtools("Emulation.setEmulatedMedia", &scheme("light"));
    assert_eq!(browser.run(background), dark);
    // A browser may deny access to the storage.
    let refuse = "Object.defineProperty(window, 'localStorage', { get() { throw new Error(); } })";
    let added =
        browser.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": refuse }));
    browser.open(&forked.page, "");
    assert_eq!(browser.run(background), light);
    browser.run(press);
    browser.run(press);
    assert_eq!(browser.run(background), dark);
    assert_eq!(browser.log("browser"), Vec::<Value>::new());
    browser.devtools("Page.removeScriptToEvaluateOnNewDocument", &added);
}

fn a_long_session_has_a_short_outline(browser: &mut Browser, directory: &TempDir) {
    let mut session = Session::in_memory("/proj");
    let mut last = String::new();
    for number in 0..5000 {
        last = session.append_message(Message::user(format!("Question {number}"))).unwrap();
    }
    let page = page(directory, "long.html", &mut session);
    browser.open(&page, &format!("#{last}"));
    browser.wait(
        "document.querySelector('.row[aria-selected=true]')?.textContent === 'Question 4999'",
    );
    assert_eq!(browser.run("return document.querySelectorAll('article').length"), 5000);
    let rows = browser.run("return document.querySelectorAll('.row').length").as_u64().unwrap();
    assert!((10..200).contains(&rows), "{rows}");
    assert!(seen(browser, &last));
}

/// Markup and links that must have no effect.
const HOSTILE: &str = concat!(
    "<script>window.ran = 1</script><img src=x onerror=\"window.ran = 1\">",
    "\"'><svg onload=window.ran=1></svg></script></style></title></textarea>--><!-- ]]>\n\n",
    "[a](javascript:window.ran=1) [b](JaVaScRiPt:window.ran=1) [c](data:text/html,x) ",
    "[d](\x01javascript:window.ran=1) <javascript:window.ran=1> [e](//example.invalid) ",
    "![f](https://example.invalid/f.png) [g](https://example.invalid/\"onclick=window.ran=1)\n\n",
    "<iframe srcdoc=\"<script>parent.ran = 1</script>\"></iframe>\n<base href=https://example.invalid>\n",
    "<style>@import 'https://example.invalid'; * { display: none }</style>\n",
    "<meta http-equiv=refresh content=\"0;https://example.invalid\">\n\n",
    "```html\" onclick=\"window.ran=1\n</code></pre><script>window.ran = 1</script>\n```\n\n",
    "| <b onclick=window.ran=1> | x |\n|---|---|\n| </table> | \u{2028}\u{2029} |\n\n",
    "\0\x07\x1b]8;;javascript:window.ran=1\x07 \u{202e}txet desrever\u{2066} ${window.ran=1}",
);

pub(crate) fn hostile_session(directory: &TempDir) -> Session {
    let ids = [
        "x\" onclick=\"window.ran=1",
        "<script>window.ran=1</script>",
        "'-->",
        "constructor",
        "a b\u{202e}c",
        "head",
    ];
    let tool = Tool { name: HOSTILE.into(), description: HOSTILE.into(), ..Tool::default() };
    let hostile_call = call(HOSTILE, HOSTILE, json!({ HOSTILE: HOSTILE, "path": HOSTILE }));
    let known_calls = [
        call("k1", "bash", json!({ "command": HOSTILE })),
        call(
            "k2",
            "edit",
            json!({"path": HOSTILE, "edits": [{"oldText": HOSTILE, "newText": HOSTILE}]}),
        ),
        call("k3", "write", json!({"path": "a.html", "content": HOSTILE})),
        call("k4", "read", json!({"path": "a.html"})),
    ];
    let usage = json!({"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
    let image = |data: &str, mime: &str| json!({"type": "image", "data": data, "mimeType": mime});
    let message = |message: Value| ("message", json!({ "message": message }));
    let bodies = [
        message(json!({"role": "system", "content": HOSTILE, "sections": { HOSTILE: HOSTILE },
            "toolsAdded": [tool], "toolsRemoved": [{"name": HOSTILE}], "timestamp": 1})),
        message(json!({"role": "user", "timestamp": 1, "content": [
            {"type": "text", "text": HOSTILE},
            image("PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+", "image/svg+xml"),
            image("\"onerror=\"window.ran=1", "image/png"),
            image("AAAA", "image/png\" onerror=\"window.ran=1"),
            {"type": HOSTILE, "text": HOSTILE}]})),
        message(json!({"role": "assistant", "api": HOSTILE, "provider": HOSTILE, "model": HOSTILE,
            "usage": usage, "stopReason": "error", "errorMessage": HOSTILE, "timestamp": 1,
            "content": [{"type": "text", "text": HOSTILE}, {"type": "thinking", "thinking": HOSTILE},
                hostile_call, known_calls[0], known_calls[1], known_calls[2], known_calls[3],
                {"type": HOSTILE, "x": HOSTILE}]})),
        message(json!({"role": "toolResult", "toolCallId": HOSTILE, "toolName": HOSTILE,
            "content": [{"type": "text", "text": HOSTILE}, image(HOSTILE, HOSTILE)],
            "isError": true, "timestamp": 1})),
        message(json!({"role": "toolResult", "toolCallId": "k2", "toolName": "edit",
            "content": [], "details": {"diff": HOSTILE}, "isError": false, "timestamp": 1})),
        message(json!({"role": "toolResult", "toolCallId": "k4", "toolName": "read",
            "content": [{"type": "text", "text": HOSTILE}], "isError": false, "timestamp": 1})),
        message(
            json!({"role": "bashExecution", "command": HOSTILE, "output": HOSTILE, "timestamp": 1}),
        ),
        message(json!({"role": HOSTILE, "content": HOSTILE})),
        ("compaction", json!({"summary": HOSTILE, "firstKeptEntryId": HOSTILE, "tokensBefore": 1})),
        ("branch_summary", json!({"summary": HOSTILE, "fromId": HOSTILE})),
        ("custom_message", json!({"customType": HOSTILE, "content": HOSTILE, "display": true})),
        ("model_change", json!({"provider": HOSTILE, "modelId": HOSTILE})),
        ("thinking_level_change", json!({"thinkingLevel": HOSTILE})),
        ("context_edit", json!({"targetId": HOSTILE, "replacement": null})),
        ("label", json!({"targetId": ids[0], "label": HOSTILE})),
        (HOSTILE, json!({ HOSTILE: HOSTILE })),
        ("session_info", json!({ "name": HOSTILE })),
    ];
    let mut lines = vec![json!({"type": "session", "version": 3, "id": "s", "timestamp": HOSTILE,
        "cwd": HOSTILE})];
    let mut parent = Value::Null;
    for (number, (kind, body)) in bodies.into_iter().enumerate() {
        let id = ids.get(number).map_or_else(|| format!("plain{number}"), ToString::to_string);
        let mut line = json!({"type": kind, "id": id, "parentId": parent, "timestamp": HOSTILE});
        line.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        lines.push(line);
        parent = id.into();
    }
    // A fork, so that the script creates links from hostile text.
    lines.push(json!({"type": "message", "id": "\\\"]<", "parentId": ids[1], "timestamp": "",
        "message": {"role": "user", "content": HOSTILE, "timestamp": 1}}));
    let path = directory.path().join("hostile.jsonl");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, text).unwrap();
    Session::open(&path, &OpenOptions::read()).unwrap()
}

fn hostile_content_has_no_effect(browser: &mut Browser, directory: &TempDir) {
    let mut session = hostile_session(directory);
    let page = page(directory, "hostile.html", &mut session);
    browser.open(&page, "");
    no_harm_done(browser, &page);
    // Use all links to entries, all buttons and the search.
    let links =
        "return [...new Set([...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.hash))]";
    let links = browser.run(links);
    assert!(links.as_array().unwrap().len() > 10, "{links}");
    for link in links.as_array().unwrap() {
        browser.run(&format!("location.hash = {link}"));
        browser.wait(&format!("location.hash === {link}"));
    }
    browser.run("for (const name of ['tools', 'expand', 'theme']) document.querySelector(`[data-do=${name}]`).click()");
    browser.run("document.querySelector('input').focus()");
    browser.type_keys("<script>");
    browser.wait("/^\\d+$/.test(document.querySelector('output').textContent)");
    let matches = browser.run("return document.querySelector('output').textContent");
    assert!(matches.as_str().unwrap().parse::<u32>().unwrap() > 20, "{matches}");
    no_harm_done(browser, &page);
    // Every id can be the target of a link.
    browser.open(&page, "#x%22%20onclick%3D%22window.ran%3D1");
    browser.wait("document.querySelector('article.here')?.id.startsWith('x\"')");
    // The policy blocks markup even if escaping fails.
    browser.run("const script = document.createElement('script'); script.textContent = 'window.ran = 1'; document.body.append(script)");
    browser.run("const image = document.createElement('img'); image.setAttribute('onerror', 'window.ran = 1'); image.src = 'https://example.invalid/'; document.body.append(image)");
    browser.wait("document.images[document.images.length - 1].complete");
    assert_eq!(browser.run("return window.ran"), Value::Null);
    let refused = browser.log("browser");
    let by_policy =
        |entry: &Value| entry["message"].as_str().unwrap().contains("Content Security Policy");
    assert!(refused.len() >= 2 && refused.iter().all(by_policy), "{refused:?}");
}

fn no_harm_done(browser: &mut Browser, page: &Path) {
    assert!(!browser.has_dialog());
    assert_eq!(browser.run("return window.ran"), Value::Null);
    let odd = "const odd = [];
        for (const element of document.querySelectorAll('*')) {
            if (/^(iframe|object|embed|svg|form|base|link|video|audio|template)$/.test(element.localName)) odd.push(element.outerHTML);
            for (const { name } of element.attributes) {
                if (/^on|^srcdoc|^action/.test(name) || (name === 'style' && !element.closest('.rows'))) odd.push(name);
            }
        }
        for (const link of document.links) {
            if (!/^(https?:|mailto:)/.test(link.href) && !link.getAttribute('href').startsWith('#')) odd.push(link.href);
            if (!link.getAttribute('href').startsWith('#') && link.rel !== 'noopener noreferrer') odd.push(link.rel);
        }
        for (const image of document.images) if (!image.src.startsWith('data:image/')) odd.push(image.src);
        if (document.scripts.length !== 2 || document.querySelectorAll('style').length !== 1) odd.push('script or style');
        if (/[\\u0000\\u001b\\u202e\\u2066]/.test(document.body.textContent)) odd.push('invisible');
        return odd";
    assert_eq!(browser.run(odd), json!([]));
    let logged = browser.log("browser");
    assert!(logged.is_empty(), "{logged:?}");
    let file = format!("file://{}", page.display());
    let requests = browser.requests();
    let local = |url: &String| url.starts_with(&file) || url.starts_with("data:");
    assert!(requests.iter().all(local), "{requests:?}");
}
