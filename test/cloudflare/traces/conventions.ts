import * as v from 'valibot';
import { parse } from 'yaml';
import type { TraceSpan } from '../../../src/cloudflare/wire/trace.ts';

/** What a version of the GenAI conventions says about attributes and spans. */
export interface Conventions {
	/** The type of each attribute: a name of a type, or the values of an enumeration. */
	readonly types: ReadonlyMap<string, string | readonly string[]>;
	readonly spans: ReadonlyMap<string, SpanRule>;
}

interface SpanRule {
	readonly kind: string;
	/** The attributes of the span, with their level. */
	readonly levels: ReadonlyMap<string, string>;
}

const level = v.optional(v.union([v.string(), v.record(v.string(), v.unknown())]));
const reference = v.object({
	ref: v.optional(v.string()),
	ref_group: v.optional(v.string()),
	requirement_level: level,
});
type Reference = v.InferOutput<typeof reference>;
const type = v.union([v.string(), v.object({ members: v.array(v.object({ value: v.string() })) })]);
const defined = v.object({ id: v.optional(v.string()), key: v.optional(v.string()), type: v.optional(type) });
const group = v.object({
	id: v.optional(v.string()),
	type: v.optional(v.string()),
	kind: v.optional(v.string()),
	span_kind: v.optional(v.string()),
	extends: v.optional(v.string()),
	attributes: v.optional(v.array(v.unknown()), []),
});
type Group = v.InferOutput<typeof group>;
const file = v.object({
	attributes: v.optional(v.array(v.unknown()), []),
	groups: v.optional(v.array(group), []),
	attribute_groups: v.optional(v.array(group), []),
	spans: v.optional(v.array(group), []),
});

/** Reads the YAML of the conventions, in the form of 2025 (`groups`) or in that of 2026 (`definition/2`). */
export function readConventions(registry: readonly string[], spans: string): Conventions {
	const files = registry.map((text) => v.parse(file, parse(text)));
	const attributes = files.flatMap((one) => [...one.attributes, ...one.groups.flatMap((each) => each.attributes)]);
	const types = attributes.flatMap((one): [string, string | readonly string[]][] => {
		const { id, key = id, type: given } = v.parse(defined, one);
		if (key === undefined || given === undefined) return [];
		return [[key, typeof given === 'string' ? given : given.members.map(({ value }) => value)]];
	});
	const { groups, attribute_groups, spans: rules } = v.parse(file, parse(spans));
	const byId = new Map([...groups, ...attribute_groups].map((one) => [one.id ?? '', one]));
	const named = [
		...groups.filter((one) => one.type === 'span').map((one): [string, Group] => [(one.id ?? '').slice(5), one]),
		...rules.map((one): [string, Group] => [one.type ?? one.id ?? '', one]),
	];
	return {
		types: new Map(types),
		spans: new Map(
			named.map(([name, one]) => [name, { kind: one.kind ?? one.span_kind ?? '', levels: listLevels(one, byId) }]),
		),
	};
}

function listLevels(one: Group, byId: ReadonlyMap<string, Group>): Map<string, string> {
	const before = one.extends === undefined ? undefined : byId.get(one.extends);
	const levels = before === undefined ? new Map<string, string>() : listLevels(before, byId);
	for (const given of one.attributes) {
		const { ref, ref_group, requirement_level }: Reference = v.parse(reference, given);
		const inner = ref_group === undefined ? undefined : byId.get(ref_group);
		if (inner !== undefined) for (const [key, value] of listLevels(inner, byId)) levels.set(key, value);
		if (ref === undefined) continue;
		const word = typeof requirement_level === 'object' ? Object.keys(requirement_level)[0] : requirement_level;
		levels.set(ref, word ?? levels.get(ref) ?? 'recommended');
	}
	return levels;
}

const kinds: Readonly<Record<number, string>> = { 1: 'internal', 3: 'client' };

/** The attributes that a run always has, so a span that may have them must. */
const available = ['gen_ai.request.model', 'gen_ai.conversation.id', 'gen_ai.agent.name'];

/** Returns what a span has that a version of the conventions does not allow, and what it lacks. */
export function findMistakes({ types, spans }: Conventions, span: TraceSpan, names: readonly string[]): string[] {
	const rules = names.flatMap((name) => spans.get(name) ?? []);
	const about = new Map(span.attributes.map(({ key, value }) => [key, value]));
	const mistakes = [...about].flatMap(([key, value]) => {
		if (!key.startsWith('gen_ai.')) return [];
		const type = types.get(key);
		if (type === undefined) return [`${key} is unknown`];
		const is = hasType(type, value);
		return is ? [] : [`${key} is ${JSON.stringify(value)}, and has to be ${JSON.stringify(type)}`];
	});
	const [rule] = rules;
	if (rule === undefined) return mistakes;
	if (!rules.some(({ kind }) => kind === kinds[span.kind])) mistakes.push(`the kind is ${kinds[span.kind]}`);
	for (const [key, word] of rule.levels) {
		const isNeeded =
			word === 'required' ||
			(word === 'conditionally_required' && available.includes(key)) ||
			(key === 'error.type' && span.status?.code === 2);
		if (isNeeded && !about.has(key)) mistakes.push(`${key} is missing`);
	}
	return mistakes;
}

function hasType(type: string | readonly string[], value: TraceSpan['attributes'][number]['value']): boolean {
	if (typeof type !== 'string') return 'stringValue' in value && [...type, 'unknown'].includes(value.stringValue);
	if (type === 'string' || type === 'any') return 'stringValue' in value;
	if (type === 'int') return 'intValue' in value;
	if (type === 'double') return 'doubleValue' in value;
	return type === 'string[]' && 'arrayValue' in value;
}
