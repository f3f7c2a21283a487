import { RunletError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { type Entry, readFrontMatter, type Violation } from './front-matter.ts';
import type { Skill } from './skill.ts';
import { removePatterns } from './skill.ts';
import { writeYaml } from './yaml.ts';

export type { Violation } from './front-matter.ts';

export interface MarkdownOptions {
	/** The name of the folder of the SKILL.md. `name` must be the same. A skill without a `name` gets this name. */
	readonly directory?: string;
}

/**
 * Reads a SKILL.md (https://agentskills.io/specification) leniently. Accepts violations that `validateMarkdown`
 * reports, as long as the meaning is clear: an unusual name is kept, `directory` replaces a missing name, a
 * value with an unquoted `: ` is read as text, and a scalar keeps its text (`version: 1.10` is `'1.10'`).
 *
 * `when`, `modalities` and `requires` are comma-separated texts or lists under `metadata`. `body` is everything
 * after the front matter, without one blank line. `frontMatter` keeps the rest, so
 * `fromMarkdown(toMarkdown(skill))` equals `skill` if `skill` itself was read from a SKILL.md.
 *
 * @throws {RunletError} `invalid_skill` if the front matter or the description is missing, if there is neither a
 * name nor a `directory`, or if the YAML is broken. `data` has `field` and `line`.
 */
export function fromMarkdown(text: string, { directory }: MarkdownOptions = {}): Skill {
	const frontMatter = readFrontMatter(text);
	if (!frontMatter.ok) throw toRefusal(frontMatter.violation, directory);
	const { entries, body } = frontMatter;
	const name = entries.get('name')?.text?.trim() || directory?.trim();
	if (!name) throw toRefusal({ field: 'name', message: 'name is missing: write `name: my-skill`', line: 1 }, directory);
	const description = entries.get('description')?.text?.trim();
	if (!description) {
		const line = entries.get('description')?.line ?? 1;
		const message =
			'description is missing: write `description:` and one sentence on what the skill does and when to use it';
		throw toRefusal({ field: 'description', message, line }, directory);
	}
	const metadata = entries.get('metadata')?.entries ?? new Map<string, Entry>();
	const lists = listFields.flatMap((field) => {
		const list = readList(metadata.get(field));
		return list?.length ? [[field, list] as const] : [];
	});
	const rest = readRest(entries, metadata);
	return {
		name,
		description,
		...Object.fromEntries(lists),
		body,
		...(Object.keys(rest).length > 0 && { frontMatter: rest }),
	};
}

/**
 * Writes a standard SKILL.md (https://agentskills.io/specification). `when`, `modalities` and `requires` become
 * comma-separated texts under `metadata`, so an entry with a comma is read back as two. `tools` and `fn` are left out:
 * the format has no place for them. Nothing is validated: use `validateMarkdown`.
 *
 * @throws {RunletError} `invalid_skill` for a skill with a `bodyFn`, because its text does not exist before a turn
 */
export function toMarkdown({ name, description, body = '', bodyFn, frontMatter = {}, ...skill }: Skill): string {
	if (bodyFn !== undefined) {
		const message = `The skill "${name}" makes its text with bodyFn, which a SKILL.md cannot hold: give it a body instead`;
		throw new RunletError('invalid_skill', message, { field: 'bodyFn' });
	}
	const { name: _name, description: _description, metadata = {}, ...rest } = frontMatter;
	const lists = Object.fromEntries(
		listFields.flatMap((field) => (skill[field]?.length ? [[field, skill[field].join(', ')]] : [])),
	);
	const merged = isRecord(metadata) ? { ...metadata, ...lists } : metadata;
	const isEmpty = isRecord(merged) && Object.keys(merged).length === 0;
	if (merged === metadata && Object.keys(lists).length > 0) {
		const message = `The metadata of the skill "${name}" is not a map, so ${Object.keys(lists).join(', ')} cannot be added to it`;
		throw new RunletError('invalid_skill', message, { field: 'metadata' });
	}
	const yaml = writeYaml({ name, description, ...rest, ...(!isEmpty && { metadata: merged }) });
	return `---\n${yaml}---\n${body && `\n${body}`}`;
}

/**
 * Checks a SKILL.md strictly (https://agentskills.io/specification), and lists every violation. A character is a
 * Unicode code point. `field` is a key, `metadata.KEY`, or `frontMatter` for the whole block. A skill with an `error`
 * cannot be published; a skill with a `warning` works here. Never throws.
 */
export function validateMarkdown(text: string, { directory }: MarkdownOptions = {}): Violation[] {
	const frontMatter = readFrontMatter(text);
	if (!frontMatter.ok) return [frontMatter.violation];
	const { entries, repairs } = frontMatter;
	const violations = [...repairs];
	for (const field of ['name', 'description']) {
		if (!entries.has(field)) violations.push({ severity: 'error', field, message: `${field} is required`, line: 1 });
	}
	for (const [field, entry] of entries) {
		const check = isKnown(field) ? checks[field] : undefined;
		if (check !== undefined) violations.push(...check(entry, directory));
		else {
			const message = `${field} is not a key of the format (${Object.keys(checks).join(', ')}): move it under metadata`;
			violations.push({ severity: 'warning', field, message, line: entry.line });
		}
	}
	return violations;
}

const listFields = ['when', 'modalities', 'requires'] as const;

/** Reads comma-separated text or a list. Returns `undefined` for anything else. */
function readList(entry: Entry | undefined): string[] | undefined {
	const items: unknown = entry?.text === undefined ? entry?.value : [entry.text];
	if (!Array.isArray(items) || !items.every(isScalarValue)) return undefined;
	return items.flatMap((item) => String(item).split(',')).flatMap((item) => item.trim() || []);
}

/** Returns the keys that have no field in `Skill`. Leaves out keys without a value. */
function readRest(entries: ReadonlyMap<string, Entry>, metadata: ReadonlyMap<string, Entry>): Record<string, unknown> {
	const isList = (key: string) =>
		listFields.some((field) => field === key) && readList(metadata.get(key)) !== undefined;
	const kept = [...metadata].filter(([key, { value }]) => value !== null && !isList(key));
	const rest = [...entries].flatMap(([key, entry]): [string, unknown][] => {
		if (entry.value === null || key === 'name' || key === 'description') return [];
		if (key !== 'metadata' || entry.entries === undefined)
			return [[key, isKnown(key) ? toTextValue(entry) : toValue(entry)]];
		return kept.length > 0
			? [[key, Object.fromEntries(kept.map(([inner, value]) => [inner, toTextValue(value)]))]]
			: [];
	});
	return Object.fromEntries(rest);
}

function toTextValue({ text, value }: Entry): unknown {
	return text ?? value;
}

/** Returns the value. Returns a number as text if JavaScript would write the number differently (`1.10`). */
function toValue({ text, value }: Entry): unknown {
	return typeof value === 'number' && String(value) !== text ? text : value;
}

/** The rule of each key, in the order of the specification. */
const checks: Readonly<Record<string, (entry: Entry, directory: string | undefined) => Violation[]>> = {
	name: (entry, directory) => {
		const { value, line } = entry;
		const violations = checkText('name', entry, 64).map((found) => ({ ...found, severity: 'error' as const }));
		if (typeof value !== 'string' || value.trim() === '') return violations;
		if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(value)) {
			const message = `name "${value}" may hold only a-z, 0-9 and single hyphens between them`;
			violations.push({ severity: 'error', field: 'name', message, line });
		}
		if (directory !== undefined && value !== directory) {
			const message = `name "${value}" has to equal the name of its folder, "${directory}"`;
			violations.push({ severity: 'error', field: 'name', message, line });
		}
		return violations;
	},
	description: (entry) => {
		const isRead = (entry.text ?? '').trim() !== '';
		return checkText('description', entry, 1024).map((found) => ({ ...found, severity: isRead ? 'warning' : 'error' }));
	},
	license: (entry) => checkText('license', entry),
	compatibility: (entry) => checkText('compatibility', entry, 500),
	metadata: ({ entries, line }) => {
		if (entries === undefined)
			return [{ severity: 'warning', field: 'metadata', message: 'metadata has to be a map of text to text', line }];
		return [...entries].flatMap(([key, entry]) => checkText(`metadata.${key}`, entry));
	},
	'allowed-tools': (entry) => {
		const violations = checkText('allowed-tools', entry);
		// A comma in parentheses is part of a tool's pattern: `Bash(cut -d, *)`.
		if (removePatterns(entry.text ?? '').includes(',')) {
			const message = 'allowed-tools has to be separated by spaces, not by commas';
			violations.push({ severity: 'warning', field: 'allowed-tools', message, line: entry.line });
		}
		return violations;
	},
};

function isKnown(key: string): boolean {
	return Object.hasOwn(checks, key);
}

/** Checks a text. If a `limit` is given, the text must not be empty. */
function checkText(field: string, { value, text, line }: Entry, limit?: number): Violation[] {
	const severity = 'warning';
	if (typeof value !== 'string') {
		const advice = text ? `put ${text} in quotes` : 'write it as one text, or leave the key out';
		return [{ severity, field, message: `${field} has to be text: ${advice}`, line }];
	}
	if (limit === undefined) return [];
	if (value.trim() === '')
		return [{ severity, field, message: `${field} is empty: it has to have 1 to ${limit} characters`, line }];
	const { length } = [...value];
	if (length <= limit) return [];
	return [{ severity, field, message: `${field} has ${length} characters: ${limit} are allowed`, line }];
}

function isScalarValue(value: unknown): value is string | number | boolean {
	return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function toRefusal({ field, message, line }: Omit<Violation, 'severity'>, directory: string | undefined): RunletError {
	const where = [
		`SKILL.md${directory ? ` of "${directory}"` : ''}`,
		...(line === undefined ? [] : [`line ${line}`]),
	].join(', ');
	return new RunletError('invalid_skill', `${where}: ${message}`, line === undefined ? { field } : { field, line });
}
