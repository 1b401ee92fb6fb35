// Decimal digits of a number and their rounding.

/** Returns { sign, digits, exponent }: 0.digits × 10^exponent, without trailing zeros. */
function decompose(value) {
	const text = String(value);
	const sign = text.startsWith("-") || Object.is(value, -0) ? -1 : 1;
	const [mantissa, power = "0"] = text.replace("-", "").split("e");
	const [whole, fraction = ""] = mantissa.split(".");
	let digits = whole + fraction;
	let exponent = whole.length + Number(power);
	const zeros = /^0*/.exec(digits)[0].length;
	digits = digits.slice(zeros).replace(/0+$/, "");
	exponent -= zeros;
	return { sign, digits, exponent: digits === "" ? 0 : exponent };
}

/** Rounds to `count` digits after the first `0.`; modes as in Intl. */
function roundDigits(decimal, count, mode = "halfExpand") {
	const { sign, digits, exponent } = decimal;
	if (count >= digits.length) return decimal;
	if (count < 0) return { sign, digits: "", exponent: 0 };
	const kept = digits.slice(0, count);
	if (!decideUp(decimal, count, mode)) return trim({ sign, digits: kept, exponent });
	let carry = 1;
	const result = [...kept].reverse().map((digit) => {
		const sum = Number(digit) + carry;
		carry = sum > 9 ? 1 : 0;
		return String(sum % 10);
	});
	if (carry > 0) result.push("1");
	return trim({ sign, digits: result.reverse().join(""), exponent: exponent + carry });
}

function trim({ sign, digits, exponent }) {
	const plain = digits.replace(/0+$/, "");
	return { sign, digits: plain, exponent: plain === "" ? 0 : exponent };
}

/** Decides whether the cut-off part rounds away from zero. */
function decideUp({ sign, digits }, count, mode) {
	const next = count < 0 ? 0 : Number(digits[count] ?? 0);
	const hasRest = count < 0 ? digits !== "" : digits.length > count + 1;
	const isZero = next === 0 && !hasRest;
	switch (mode) {
		case "trunc": return false;
		case "expand": return !isZero;
		case "ceil": return sign > 0 && !isZero;
		case "floor": return sign < 0 && !isZero;
		default: {
			if (next !== 5 || hasRest) return next >= 5;
			if (mode === "halfTrunc") return false;
			if (mode === "halfEven") return Number(digits[count - 1] ?? 0) % 2 === 1;
			if (mode === "halfCeil") return sign > 0;
			if (mode === "halfFloor") return sign < 0;
			return true;
		}
	}
}

/** Rounds to a number of fraction digits. */
function roundFraction(decimal, places, mode) {
	const count = decimal.exponent + places;
	if (count < 0) return { sign: decimal.sign, digits: "", exponent: 0 };
	return roundDigits(decimal, count, mode);
}

/** Returns the whole and the fraction part as texts of digits. */
function parts({ digits, exponent }) {
	if (exponent <= 0) return { whole: "0", fraction: digits === "" ? "" : "0".repeat(-exponent) + digits };
	return { whole: digits.slice(0, exponent).padEnd(exponent, "0"), fraction: digits.slice(exponent) };
}

module.exports = { decompose, roundDigits, roundFraction, parts };
