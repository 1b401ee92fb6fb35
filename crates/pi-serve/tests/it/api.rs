//! The resources of the API: lists, windows, streams with resume, blobs, runs, metrics.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_ai::faux::Reply;
use pi_guard::secrets::Secrets;
use pi_serve::entrance::Right;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::home::{Home, entries};
use crate::raw::Raw;

async fn create(raw: &Raw, token: &str, body: Value) -> String {
    let created = raw.post("/api/v1/sessions", token, &body).await;
    assert_eq!(created.status, 201, "{created:?}");
    created.json()["id"].as_str().unwrap().to_owned()
}

async fn prompt(home: &Home, raw: &Raw, id: &str, question: &str, answer: &str) {
    home.model.push(Reply::new().text(answer));
    let (_, live) = raw.server.state().live(id).unwrap();
    let turn = live.turn(question.to_owned(), Default::default()).begin().await.unwrap();
    if let Some(run) = turn.into_run() {
        run.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_listed_described_and_deleted() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let token = raw.token("owner", Right::Admin);
    let mut ids = Vec::new();
    for number in 0..5 {
        let id = create(&raw, &token, json!({ "name": format!("number {number}") })).await;
        prompt(&home, &raw, &id, &format!("question {number}"), "needle in the answer").await;
        ids.push(id);
    }
    let unsaved = create(&raw, &token, json!({})).await;
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = raw.get(&format!("/api/v1/sessions?limit=2{cursor}"), &token).await.json();
        for one in page["sessions"].as_array().unwrap() {
            found.push(one["id"].as_str().unwrap().to_owned());
            assert_eq!(one["status"], "idle");
        }
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let mut expected = ids.clone();
    expected.push(unsaved.clone());
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "every session once");
    let hits = raw.get("/api/v1/sessions?q=%22question%203%22", &token).await.json();
    assert_eq!(hits["sessions"].as_array().unwrap().len(), 1, "{hits}");
    assert_eq!(hits["sessions"][0]["name"], "number 3");
    assert!(hits["sessions"][0]["snippet"].as_str().unwrap().contains("question 3"));
    let details = raw.get(&format!("/api/v1/sessions/{}", ids[0]), &token).await.json();
    assert_eq!(
        (details["messages"].as_u64(), details["stats"]["userMessages"].as_u64()),
        (Some(2), Some(1)),
        "{details}"
    );
    assert_eq!(details["queue"], json!({ "steering": [], "followUp": [] }));
    assert!(details["model"]["id"].is_string() && details["asOf"].is_string());
    // Closed, it is described from its file.
    let hosted = raw.server.state().live(&ids[0]).unwrap().0;
    raw.server.state().host.close_session(&hosted).await;
    let stored = raw.get(&format!("/api/v1/sessions/{}", ids[0]), &token).await.json();
    assert_eq!((&stored["length"], &stored["title"]), (&details["length"], &details["title"]));
    assert_eq!(raw.delete(&format!("/api/v1/sessions/{}", ids[0]), &token).await.status, 204);
    assert_eq!(raw.get(&format!("/api/v1/sessions/{}", ids[0]), &token).await.status, 404);
    for bad in ["limit=x", "cursor=x", "limit=-1"] {
        assert_eq!(raw.get(&format!("/api/v1/sessions?{bad}"), &token).await.status, 400, "{bad}");
    }
    let directories = raw.get("/api/v1/directories", &token).await.json();
    assert_eq!(directories["directories"], json!([home.project()]));
    let metrics = raw.get("/metrics", &token).await.body;
    assert!(
        metrics.contains("\npi_open_sessions 5\n") && metrics.contains("status=\"4xx\"} 4\n"),
        "{metrics}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_of_entries_are_the_lines_of_the_file() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let token = raw.token("owner", Right::Admin);
    let id = create(&raw, &token, json!({})).await;
    for number in 0..4 {
        prompt(&home, &raw, &id, &format!("question {number}"), "**bold** <script>").await;
    }
    let file = raw.server.state().live(&id).unwrap().1.file().unwrap();
    let lines = entries(&file);
    let window = async |query: &str| {
        let path = format!("/api/v1/sessions/{id}/entries?{query}");
        let answer = raw.get(&path, &token).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    let all = window("limit=1000").await;
    let sent: Vec<Value> =
        all["entries"].as_array().unwrap().iter().map(|one| one["entry"].clone()).collect();
    assert_eq!(sent, lines);
    assert_eq!(all["length"], lines.len());
    let backwards = window("before=3&limit=2").await;
    let numbers: Vec<u64> = backwards["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 2]);
    let html = window("after=0&limit=1000&view=html").await.to_string();
    assert!(html.contains("<strong>bold</strong>") && !html.contains("<p><script>"), "{html}");
    assert!(html.contains("&lt;script&gt;"), "{html}");
    let export = raw.get(&format!("/api/v1/sessions/{id}/export"), &token).await;
    assert!(export.header("content-disposition").unwrap().starts_with("attachment"), "{export:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_resume_without_a_gap_or_a_duplicate() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let token = raw.token("owner", Right::Admin);
    let id = create(&raw, &token, json!({})).await;
    let path = format!("/api/v1/sessions/{id}/events");
    let mut live = raw.events(&format!("{path}?since=-1&view=html"), &token, None).await;
    assert!(live.head.contains("text/event-stream") && live.head.contains("x-accel-buffering: no"));
    let beat = live.any().await.unwrap();
    assert_eq!((beat.data["type"].as_str(), beat.id), (Some("heartbeat"), None));
    let server_id = raw.server.state().server_id.clone();
    assert_eq!(beat.data["serverId"], server_id.as_str());
    prompt(&home, &raw, &id, "one", "first answer").await;
    let (mut seen, mut text) = (Vec::new(), String::new());
    loop {
        let event = live.next().await.unwrap();
        match event.data["type"].as_str().unwrap() {
            "entry" => {
                assert_eq!(event.id, Some(format!("{id}:{}", seen.len())));
                seen.push(event.data["entry"].clone());
            }
            "event" => {
                let delta = &event.data["event"]["assistantMessageEvent"];
                if delta["type"] == "text_delta" {
                    text.push_str(delta["delta"].as_str().unwrap());
                }
                if event.data["event"]["type"] == "agent_settled" {
                    break;
                }
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(text, "first answer");
    let file = raw.server.state().live(&id).unwrap().1.file().unwrap();
    let lines = entries(&file);
    assert_eq!(seen, lines);
    drop(live);
    // From any event on, by the header that browsers send, while the session is open and after.
    for is_open in [true, false] {
        if !is_open {
            let hosted = raw.server.state().live(&id).unwrap().0;
            raw.server.state().host.close_session(&hosted).await;
        }
        for last in 0..lines.len() {
            let mut events = raw.events(&path, &token, Some(&format!("{id}:{last}"))).await;
            for (at, line) in lines.iter().enumerate().skip(last + 1) {
                let event = events.until("entry").await;
                assert_eq!((&event.data["entry"], event.id), (line, Some(format!("{id}:{at}"))));
            }
        }
    }
    for wrong in ["x", "x:", ":1x", &format!("{id}:-1")] {
        let headers =
            [("Authorization", format!("Bearer {token}")), ("Last-Event-ID", wrong.to_owned())];
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(raw.send("GET", &path, &headers, "").await.status, 400, "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_the_lists_are_streamed() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let token = raw.token("owner", Right::Admin);
    let mut events = raw.events("/api/v1/events", &token, None).await;
    assert_eq!(events.until("needs-you").await.data["questions"], json!([]));
    let id = create(&raw, &token, json!({ "name": "new" })).await;
    loop {
        let event = events.until("sessions").await;
        let changed = event.data["changed"].as_array().unwrap();
        if changed.iter().any(|one| one["id"] == id.as_str() && one["name"] == "new") {
            break;
        }
    }
    assert_eq!(raw.get("/api/v1/needs-you", &token).await.json()["questions"], json!([]));
    raw.stop.cancel();
    assert_eq!(events.until("closed").await.data["reason"], "server stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn blobs_are_content_and_never_pages() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let token = raw.token("owner", Right::Admin);
    let id = create(&raw, &token, json!({})).await;
    prompt(&home, &raw, &id, "one", "two").await;
    let (_, live) = raw.server.state().live(&id).unwrap();
    let file = live.file().unwrap();
    raw.server.state().host.close_session(&raw.server.state().live(&id).unwrap().0).await;
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>";
    let png = b"\x89PNG not really";
    let long = "long output ".repeat(1000);
    let blocks = json!([
        { "type": "image", "mimeType": "image/svg+xml", "data": STANDARD.encode(svg) },
        { "type": "image", "mimeType": "image/png", "data": STANDARD.encode(png) },
        { "type": "image", "mimeType": "text/html\r\nX: y", "data": STANDARD.encode(b"<script>") },
        { "type": "text", "text": long },
    ]);
    let last = entries(&file).last().unwrap()["id"].clone();
    let entry = json!({
        "type": "message", "id": "abcdef01", "parentId": last, "timestamp": "2026-01-01T00:00:00.000Z",
        "message": { "role": "user", "content": blocks, "timestamp": 1 },
    });
    let mut text = std::fs::read_to_string(&file).unwrap();
    text.push_str(&format!("{entry}\n"));
    std::fs::write(&file, text).unwrap();
    let get = async |bytes: &[u8]| {
        let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        raw.get(&format!("/api/v1/sessions/{id}/blobs/{hash}"), &token).await
    };
    let shown = get(png).await;
    assert_eq!(
        (shown.status, shown.header("content-type"), shown.header("content-disposition")),
        (200, Some("image/png"), None)
    );
    for bytes in [&svg[..], b"<script>"] {
        let answer = get(bytes).await;
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("application/octet-stream"))
        );
        assert_eq!(answer.header("content-disposition"), Some("attachment"));
        assert!(answer.header("content-security-policy").unwrap().contains("sandbox"));
    }
    assert_eq!(get(long.as_bytes()).await.body, long);
    assert_eq!(get(b"something else").await.status, 404);
    for wrong in ["x", &"A".repeat(64), &"g".repeat(64), &"a".repeat(63)] {
        let answer = raw.get(&format!("/api/v1/sessions/{id}/blobs/{wrong}"), &token).await;
        assert_eq!(answer.status, 404, "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_read_from_their_directories() {
    let home = Home::new();
    let raw = Raw::with(&home, |options| {
        options.secrets = Secrets::new(["secret-of-the-user-0123456789".to_owned()]);
    })
    .await;
    let token = raw.token("owner", Right::Admin);
    for number in 1..=3 {
        let id = format!("20260101-00000{number}-abcd");
        let run = home.agent().join("runs").join(&id);
        std::fs::create_dir_all(&run).unwrap();
        let write =
            |name: &str, value: Value| std::fs::write(run.join(name), value.to_string()).unwrap();
        write("contract.json", json!({ "name": format!("task {number}"), "goal": "g" }));
        write(
            "state.json",
            json!({ "started": "2026-01-01T00:00:00Z", "cwd": "/p", "outcome": "converged" }),
        );
        write(
            "report.json",
            json!({ "outcome": "converged", "text": "the value secret-of-the-user-0123456789" }),
        );
    }
    let first = raw.get("/api/v1/runs?limit=2", &token).await.json();
    let runs = first["runs"].as_array().unwrap();
    assert_eq!(
        (runs.len(), runs[0]["task"].as_str(), runs[0]["outcome"].as_str()),
        (2, Some("task 3"), Some("converged")),
        "{first}"
    );
    let next = raw
        .get(&format!("/api/v1/runs?limit=2&cursor={}", first["next"].as_str().unwrap()), &token)
        .await
        .json();
    assert_eq!((next["runs"].as_array().unwrap().len(), next.get("next")), (1, None), "{next}");
    let id = runs[0]["id"].as_str().unwrap();
    let details = raw.get(&format!("/api/v1/runs/{id}"), &token).await;
    assert_eq!(details.json()["contract"]["goal"], "g");
    assert!(!details.body.contains("secret-of-the-user"), "secrets are redacted");
    assert_eq!(raw.get("/api/v1/runs/nothing", &token).await.status, 404);
    assert_eq!(
        raw.get(&format!("/api/v1/runs/{}", &id[..8]), &token).await.status,
        404,
        "ids are exact"
    );
}
