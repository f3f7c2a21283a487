import { isRecord } from '../../ground/json.ts';

/**
 * Writes a map as YAML 1.2, which readers of YAML 1.1 take for the same: what they may take for a number, a date or a
 * boolean stands in quotes. Maps are indented blocks, lists have a line for each item, and what is in a list is JSON.
 * A key without a value (`undefined`) is left out.
 */
export function writeYaml(map: Readonly<Record<string, unknown>>, indent = ''): string {
	const lines = Object.entries(map).flatMap(([key, value]) => {
		if (value === undefined) return [];
		const start = `${indent}${isPlainKey(key) ? key : quote(key)}:`;
		if (isRecord(value) && Object.keys(value).length > 0) return [`${start}\n${writeYaml(value, `${indent}  `)}`];
		if (!Array.isArray(value) || value.length === 0) return [`${start} ${writeValue(value)}\n`];
		return [`${start}\n`, ...value.map((item) => `${indent}  - ${writeValue(item)}\n`)];
	});
	return lines.join('');
}

function writeValue(value: unknown): string {
	return typeof value === 'string' && isPlain(value) ? value : quote(value);
}

/** JSON is YAML, if signs that YAML does not print are escaped. */
function quote(value: unknown): string {
	return (JSON.stringify(value) ?? 'null').replace(
		/[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g,
		(sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
	);
}

/** What YAML 1.1 or 1.2 reads as a boolean or as nothing. */
const word = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

function isPlainKey(key: string): boolean {
	return /^[A-Za-z][\w.-]*$/.test(key) && !word.test(key);
}

/** Whether a text means itself without quotes: one line that begins with a letter, without a comment or a key in it. */
function isPlain(text: string): boolean {
	return /^\p{L}[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(text) && !/: |:$| #| $/.test(text) && !word.test(text);
}
