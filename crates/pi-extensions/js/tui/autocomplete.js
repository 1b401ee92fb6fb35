// Completions of commands, of their arguments, and of paths.

const { fuzzyFilter } = require("pi:tui/text");

/** Suggestions of one kind at most. */
const LIMIT = 20;
/** Files that a search for `@` looks at. */
const SEARCH_LIMIT = 20000;
const SKIPPED = new Set([".git", "node_modules"]);

const nameOf = (command) => command.name ?? command.value;

class CombinedAutocompleteProvider {
	#commands;
	#base;
	#searchesFiles;

	constructor(commands = [], basePath, fdPath = null) {
		this.#commands = commands;
		this.#base = basePath;
		this.#searchesFiles = Boolean(fdPath);
	}

	async getSuggestions(lines, cursorLine, cursorCol, options = {}) {
		const before = (lines[cursorLine] ?? "").slice(0, cursorCol);
		const at = /(?:^|[\s"'=(])(@"[^"]*|@[^\s"]*)$/.exec(before)?.[1];
		if (at !== undefined) return this.#files(at, options.signal);
		const command = before.trimStart();
		if (!options.force && cursorLine === 0 && command.startsWith("/")) return this.#command(command);
		const prefix = pathPrefix(before, options.force);
		if (prefix === undefined) return null;
		const items = this.#paths(prefix);
		return items.length > 0 ? { items, prefix } : null;
	}

	async #command(text) {
		const space = text.indexOf(" ");
		if (space < 0) {
			const found = fuzzyFilter(this.#commands, text.slice(1), nameOf);
			const items = found.map((command) => {
				const description = [command.argumentHint, command.description].filter(Boolean).join(" — ");
				return { value: nameOf(command), label: nameOf(command), ...(description && { description }) };
			});
			return items.length > 0 ? { items, prefix: text } : null;
		}
		const name = text.slice(1, space);
		const command = this.#commands.find((one) => nameOf(one) === name);
		const prefix = text.slice(space + 1);
		const items = await command?.getArgumentCompletions?.(prefix);
		return Array.isArray(items) && items.length > 0 ? { items, prefix } : null;
	}

	/** Files below the base directory, by the words after `@`. */
	async #files(prefix, signal) {
		if (!this.#searchesFiles) return null;
		const fs = require("node:fs");
		const query = prefix.slice(prefix.startsWith('@"') ? 2 : 1);
		const found = [];
		const directories = [""];
		while (directories.length > 0 && found.length < SEARCH_LIMIT) {
			const directory = directories.shift();
			let entries;
			try {
				entries = fs.readdirSync(`${this.#base}/${directory}`, { withFileTypes: true });
			} catch {
				continue;
			}
			for (const entry of entries) {
				if (SKIPPED.has(entry.name)) continue;
				const path = directory + entry.name + (entry.isDirectory() ? "/" : "");
				found.push(path);
				if (entry.isDirectory()) directories.push(path);
			}
			if (signal?.aborted) return null;
			// Other tasks of the thread run between two directories.
			await null;
		}
		const matching = fuzzyFilter(found, query, (path) => path).slice(0, LIMIT);
		const items = matching.map((path) => {
			const isDirectory = path.endsWith("/");
			const bare = isDirectory ? path.slice(0, -1) : path;
			const value = path.includes(" ") ? `@"${path}"` : `@${path}`;
			return { value, label: bare.slice(bare.lastIndexOf("/") + 1) + (isDirectory ? "/" : ""), description: path };
		});
		return items.length > 0 ? { items, prefix } : null;
	}

	/** Entries of a directory: directories first, then by name. */
	#paths(prefix) {
		const fs = require("node:fs");
		const isQuoted = prefix.startsWith('"');
		const typed = isQuoted ? prefix.slice(1) : prefix;
		const slash = typed.lastIndexOf("/") + 1;
		const shown = typed.slice(0, slash);
		const start = typed.slice(slash).toLowerCase();
		let directory = shown;
		if (directory === "~/" || directory.startsWith("~/")) directory = require("node:os").homedir() + directory.slice(1);
		else if (!directory.startsWith("/")) directory = `${this.#base}/${directory}`;
		let entries;
		try {
			entries = fs.readdirSync(directory || "/", { withFileTypes: true });
		} catch {
			return [];
		}
		const items = [];
		for (const entry of entries) {
			if (!entry.name.toLowerCase().startsWith(start)) continue;
			const isDirectory = entry.isDirectory() || (entry.isSymbolicLink() && isDirectoryLink(fs, `${directory}/${entry.name}`));
			const path = shown + entry.name + (isDirectory ? "/" : "");
			items.push({ value: isQuoted || path.includes(" ") ? `"${path}"` : path, label: entry.name + (isDirectory ? "/" : ""), isDirectory });
		}
		items.sort((a, b) => Number(b.isDirectory) - Number(a.isDirectory) || a.label.localeCompare(b.label));
		return items.map(({ value, label }) => ({ value, label }));
	}

	applyCompletion(lines, cursorLine, cursorCol, item, prefix) {
		const line = lines[cursorLine] ?? "";
		const before = line.slice(0, cursorCol - prefix.length);
		let after = line.slice(cursorCol);
		const isCommand = prefix.startsWith("/") && before.trim() === "" && !prefix.slice(1).includes("/");
		const isDirectory = item.label.endsWith("/");
		let inserted = item.value;
		let back = 0;
		if (isCommand) inserted = `/${item.value} `;
		else if (prefix.startsWith("@") && !isDirectory) inserted = `${item.value} `;
		if (inserted.endsWith('"')) {
			if (after.startsWith('"')) after = after.slice(1);
			// The path goes on within the quotes.
			if (isDirectory) back = 1;
		}
		const changed = [...lines];
		changed[cursorLine] = before + inserted + after;
		return { lines: changed, cursorLine, cursorCol: before.length + inserted.length - back };
	}

	shouldTriggerFileCompletion(lines, cursorLine, cursorCol) {
		const before = (lines[cursorLine] ?? "").slice(0, cursorCol).trim();
		return !(before.startsWith("/") && !before.includes(" "));
	}
}
exports.CombinedAutocompleteProvider = CombinedAutocompleteProvider;

function isDirectoryLink(fs, path) {
	try {
		return fs.statSync(path).isDirectory();
	} catch {
		return false;
	}
}

/** Returns the path before the caret; without force it must look like one. */
function pathPrefix(before, isForced) {
	const quotes = (before.match(/"/g) ?? []).length;
	if (quotes % 2 === 1) return before.slice(before.lastIndexOf('"'));
	const word = /[^\s"'=]*$/.exec(before)[0];
	if (isForced) return word;
	return word.includes("/") || word.startsWith(".") ? word : undefined;
}
