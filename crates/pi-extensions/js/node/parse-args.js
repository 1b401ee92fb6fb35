// util.parseArgs.

const { codeError, invalidArgType } = require("pi:node-errors");

function unknownOption(name, allowsPositionals) {
	const hint = allowsPositionals ? `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- "${name}"` : "";
	return codeError(TypeError, "ERR_PARSE_ARGS_UNKNOWN_OPTION", `Unknown option '${name}'${hint}`);
}

function invalidValue(message) {
	return codeError(TypeError, "ERR_PARSE_ARGS_INVALID_OPTION_VALUE", message);
}

/** Splits arguments into tokens of options, positionals and the terminator. */
function tokenize(args, options) {
	const byShort = (short) => Object.entries(options).find(([, option]) => option.short === short)?.[0];
	const isString = (name) => options[name]?.type === "string";
	const tokens = [];
	const queue = args.map((value, index) => ({ value, index }));
	while (queue.length > 0) {
		const { value: arg, index } = queue.shift();
		const next = () => queue[0]?.value;
		if (arg === "--") {
			tokens.push({ kind: "option-terminator", index });
			for (const rest of queue) tokens.push({ kind: "positional", index: rest.index, value: rest.value });
			break;
		}
		if (/^--[^=]+=/.test(arg)) {
			const at = arg.indexOf("=");
			const name = arg.slice(2, at);
			tokens.push({ kind: "option", name, rawName: `--${name}`, index, value: arg.slice(at + 1), inlineValue: true });
		} else if (arg.startsWith("--") && arg.length > 2) {
			pushOption(arg.slice(2), arg, index);
		} else if (/^-[^-]/.test(arg)) {
			const short = arg[1];
			const name = byShort(short) ?? short;
			if (arg.length === 2) pushOption(name, arg, index);
			else if (isString(name)) {
				const inline = arg.slice(2);
				tokens.push({ kind: "option", name, rawName: `-${short}`, index, value: inline, inlineValue: true });
			} else {
				const expanded = [...arg.slice(1)].map((letter) => ({ value: `-${letter}`, index }));
				const stop = expanded.findIndex(({ value }) => isString(byShort(value[1]) ?? value[1]));
				if (stop >= 0 && stop < expanded.length - 1) {
					const rest = expanded.splice(stop + 1).map(({ value }) => value[1]).join("");
					expanded[stop].value += rest;
				}
				queue.unshift(...expanded);
			}
		} else tokens.push({ kind: "positional", index, value: arg });

		function pushOption(name, rawName, at) {
			const takes = isString(name) && next() !== undefined;
			const value = takes ? queue.shift().value : undefined;
			tokens.push({ kind: "option", name, rawName, index: at, value, inlineValue: value === undefined ? undefined : false });
		}
	}
	return tokens;
}

/** Checks an option against the configuration. */
function check(token, options, allowsPositionals) {
	const option = options[token.name];
	if (option === undefined) {
		const negated = token.name.startsWith("no-") ? token.name.slice(3) : undefined;
		throw unknownOption(negated !== undefined && options[negated] !== undefined ? token.rawName : token.rawName, allowsPositionals);
	}
	const label = option.short ? `-${option.short}, --${token.name}` : `--${token.name}`;
	if (option.type === "string" && typeof token.value !== "string") throw invalidValue(`Option '${label} <value>' argument missing`);
	if (option.type === "string" && token.inlineValue === false && token.value.startsWith("-") && token.value.length > 1) {
		const usage = token.rawName.startsWith("--") ? `'${token.rawName}=-XYZ'` : `'--${token.name}=-XYZ' or '${token.rawName}-XYZ'`;
		throw invalidValue(`Option '${token.rawName}' argument is ambiguous.\nDid you forget to specify the option argument for '${token.rawName}'?\nTo specify an option argument starting with a dash use ${usage}.`);
	}
	if (option.type === "boolean" && token.value !== undefined) throw invalidValue(`Option '${label}' does not take an argument`);
}

function parseArgs(config = {}) {
	const { args = globalThis.process?.argv?.slice(2) ?? [], options = {}, strict = true, allowNegative = false } = config;
	const allowPositionals = config.allowPositionals ?? !strict;
	if (!Array.isArray(args)) throw invalidArgType("args", "an instance of Array", args);
	for (const [name, option] of Object.entries(options)) {
		if (option.type !== "string" && option.type !== "boolean") throw invalidArgType(`options.${name}.type`, "one of 'string', 'boolean'", option.type);
		if (option.short !== undefined && option.short.length !== 1) throw codeError(TypeError, "ERR_INVALID_ARG_VALUE", `The property 'options.${name}.short' must be a single character. Received '${option.short}'`);
	}
	const values = Object.create(null);
	const positionals = [];
	const tokens = tokenize(args, options);
	for (const token of tokens) {
		if (token.kind === "positional") {
			if (!allowPositionals) throw codeError(TypeError, "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL", `Unexpected argument '${token.value}'. This command does not take positional arguments`);
			positionals.push(token.value);
		}
		if (token.kind !== "option") continue;
		let { name, value } = token;
		const negated = allowNegative && name.startsWith("no-") && options[name.slice(3)]?.type === "boolean" ? name.slice(3) : undefined;
		if (negated !== undefined) [name, value] = [negated, false];
		else if (strict) check(token, options, allowPositionals);
		if (name === "__proto__") continue;
		value ??= true;
		if (options[name]?.multiple) (values[name] ??= []).push(value);
		else values[name] = value;
	}
	for (const [name, option] of Object.entries(options)) if (option.default !== undefined && values[name] === undefined) values[name] = option.default;
	return { values, positionals, ...(config.tokens ? { tokens } : {}) };
}

module.exports = { parseArgs };
