import { isRecord } from '../../base/json.ts';
import { type Message, messageText } from '../../chat/index.ts';
import { type ReasoningEffort, reasoningEfforts } from '../../chat/provider.ts';
import type { JsonSchema } from '../../tool/index.ts';
import type { Json } from './json.ts';

/** Joins the system prompt and the system messages before the conversation. Later system messages stay in place. */
export function joinSystem(
	system: string | undefined,
	messages: readonly Message[],
	...more: readonly (string | undefined)[]
): string {
	const first = messages.slice(0, messages.length - dropFirstSystem(messages).length);
	return [system, ...first.map(messageText), ...more].filter((text) => text !== undefined && text !== '').join('\n\n');
}

/** Returns the conversation without the system messages at its beginning. */
export function dropFirstSystem(messages: readonly Message[]): readonly Message[] {
	const rest = messages.findIndex(({ role }) => role !== 'system');
	return rest === -1 ? [] : messages.slice(rest);
}

/**
 * Writes a system message within a conversation as a user's text, for APIs that accept no system message there.
 * At the beginning of the conversation, the message would change the beginning of each later request.
 */
export function toSystemText(text: string): string {
	return `<system>\n${text}\n</system>`;
}

/**
 * Returns the level of a model that is nearest to the wanted level. If two levels are equally near, returns the higher
 * level, except `max`, which has no limit. Returns `undefined` for a model without levels.
 */
export function roundEffort(wanted: ReasoningEffort, steps: readonly ReasoningEffort[]): ReasoningEffort | undefined {
	const distance = (step: ReasoningEffort): number =>
		Math.abs(reasoningEfforts.indexOf(step) - reasoningEfforts.indexOf(wanted));
	let best: ReasoningEffort | undefined;
	for (const step of reasoningEfforts) {
		if (!steps.includes(step)) continue;
		const nearer = best === undefined ? 1 : distance(best) - distance(step);
		if (nearer > 0 || (nearer === 0 && step !== 'max')) best = step;
	}
	return best;
}

/**
 * Whether a schema already follows OpenAI's strict mode: the root is an object, every object is closed, all properties
 * are required, and every keyword is known to the mode.
 */
export function isStrict(schema: JsonSchema): boolean {
	return schema.type === 'object' && schema.anyOf === undefined && isSupported(schema);
}

/** https://developers.openai.com/api/docs/guides/structured-outputs, "Supported schemas". */
const known: ReadonlySet<string> = new Set([
	...['type', 'properties', 'required', 'additionalProperties', 'items', 'anyOf', 'enum', 'const', '$ref'],
	...['$defs', 'definitions', '$schema', 'title', 'description', 'pattern', 'format'],
	...['multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems'],
]);

const formats = /^(date-time|time|date|duration|email|hostname|ipv4|ipv6|uuid)$/;

function isSupported(schema: unknown): boolean {
	if (!isRecord(schema) || !Object.keys(schema).every((key) => known.has(key))) return false;
	const { type, properties, required, additionalProperties, items, anyOf, format, $defs, definitions } = schema;
	if (format !== undefined && !(typeof format === 'string' && formats.test(format))) return false;
	if (type === 'array' && items === undefined) return false;
	const fields = readFields(properties);
	if (type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined) {
		if (additionalProperties !== false || !Array.isArray(required)) return false;
		if (!Object.keys(fields).every((name) => required.includes(name))) return false;
	}
	const inner = [fields, readFields($defs), readFields(definitions)].flatMap((group) => Object.values(group));
	if (items !== undefined) inner.push(items);
	return [...inner, ...(Array.isArray(anyOf) ? anyOf : [])].every(isSupported);
}

function readFields(value: unknown): Json {
	return isRecord(value) ? value : {};
}
