import * as v from 'valibot';
import { check as checkFields } from '../base/check.ts';
import { createFieldError, RunletError } from '../base/errors.ts';
import { forAgent as toolsForAgent } from '../tool/define.ts';
import { isFn, listParamNames } from '../tool/fn.ts';
import type { AnyFn, Tool } from '../tool/index.ts';
import { applyByName } from '../tool/invoke.ts';

/**
 * Instructions that a model reads when it needs them.
 *
 * `body` is returned unchanged. `bodyFn` makes the text from the turn's context instead. `tools` become callable
 * after the skill was read. `requires` has the names of the skills that this skill needs.
 */
export interface Skill {
	readonly name: string;
	readonly description: string;
	/** Trigger phrases. */
	readonly when?: readonly string[];
	/** The kinds of input for this skill, such as `image` or `pdf`. The default is text. Only a hint. */
	readonly modalities?: readonly string[];
	readonly body?: string;
	readonly bodyFn?: BodyFn;
	readonly tools?: readonly Tool[];
	readonly requires?: readonly string[];
	/**
	 * The text files beside the body, by their path in the skill's folder (`references/api.md`). The model reads them
	 * with `read_skill_file`.
	 */
	readonly files?: Readonly<Record<string, string>>;
	/** The function that the skill was made from, if any. */
	readonly fn?: AnyFn;
	/**
	 * `license`, `compatibility`, `allowed-tools` and `metadata` of a SKILL.md. `toMarkdown` writes them back. After
	 * the skill was read, the model can call the run's `skillTools` that `allowed-tools` names. Other names do nothing.
	 */
	readonly frontMatter?: Readonly<Record<string, unknown>>;
}

/**
 * Makes the text of a skill from the turn's context. A function made with `fn` gets its parameters by name. Any
 * other function gets the whole context.
 */
export type BodyFn = (...args: never[]) => string | Promise<string>;

/** Facts about the turn for a skill. */
export type SkillContext = Readonly<Record<string, unknown>>;

/**
 * Makes a skill from a function with `meta.skill`. The default name is the name of the function. Without `body`
 * and `bodyFn`, the function itself makes the text.
 */
export function fromFn(f: AnyFn): Skill {
	const meta = isFn(f) ? f.meta.skill : undefined;
	if (meta === undefined || typeof meta.description !== 'string') {
		throw createFieldError(
			'invalid_skill',
			'skill',
			'a function becomes a skill by fn({ name, skill: { description, … } }, f).',
		);
	}
	const { name = f.meta.name, description, when = [], modalities, body, bodyFn, tools, requires } = meta;
	return {
		name,
		description,
		when,
		modalities,
		body,
		bodyFn,
		...(body === undefined && bodyFn === undefined && { bodyFn: asBodyFn(f) }),
		...(tools !== undefined && { tools: toolsForAgent(tools) }),
		requires,
		fn: f,
	};
}

/**
 * Converts functions and records to skills, in the same order. Throws `duplicate_skill` if two skills have the
 * same name, because the second skill could never be read.
 */
export function forAgent(entries: readonly (AnyFn | Skill)[]): readonly Skill[] {
	const skills = entries.map((entry) => (typeof entry === 'function' ? fromFn(entry) : check(entry)));
	const seen = new Set<string>();
	for (const { name } of skills) {
		if (seen.has(name)) throw new RunletError('duplicate_skill', `Two skills are named ${name}. Rename one.`, { name });
		seen.add(name);
	}
	return skills;
}

const texts = v.optional(v.array(v.string()));
const written = v.strictObject({
	name: v.string(),
	description: v.string(),
	when: texts,
	modalities: texts,
	body: v.optional(v.string()),
	bodyFn: v.optional(v.function()),
	tools: v.optional(v.array(v.unknown())),
	requires: texts,
	files: v.optional(v.record(v.string(), v.string())),
	fn: v.optional(v.function()),
	frontMatter: v.optional(v.record(v.string(), v.unknown())),
} satisfies Record<keyof Skill, v.GenericSchema>);

/** Checks the fields and tools of a skill that was written in code. Throws `invalid_skill` or `invalid_tool`. */
export function assertWritten(skill: Skill): void {
	try {
		checkFields(written, skill, 'skill', 'invalid_skill');
		toolsForAgent(skill.tools ?? []);
	} catch (error) {
		if (!(error instanceof RunletError)) throw error;
		throw new RunletError(error.code, `${error.message} (skill ${skill.name})`, error.data);
	}
}

function check(entry: Skill): Skill {
	const field = typeof entry?.name !== 'string' ? 'name' : 'description';
	if (field === 'description' && typeof entry.description === 'string') return entry;
	const message = `${field}: a skill needs a name and a description, both texts.`;
	throw new RunletError('invalid_skill', message, { field });
}

export function findSkill(skills: readonly Skill[], name: string): Skill | undefined {
	return skills.find((skill) => skill.name === name);
}

/** Returns the text of a skill: the result of `bodyFn` for the context, else `body`, else an empty text. */
export async function loadBody(skill: Skill, context: SkillContext = {}): Promise<string> {
	const { bodyFn, body = '' } = skill;
	if (bodyFn === undefined) return body;
	const text: unknown = await (isFn(bodyFn)
		? applyByName(bodyFn, listParamNames(bodyFn), context)
		: Reflect.apply(bodyFn, undefined, [context]));
	if (typeof text === 'string') return text;
	throw createFieldError('invalid_skill', 'bodyFn', `${skill.name} made no text but ${typeof text}.`);
}

function asBodyFn(f: AnyFn): BodyFn {
	const make = async (context: SkillContext): Promise<string> => {
		const text = await applyByName(f, listParamNames(f), context);
		return typeof text === 'string' ? text : '';
	};
	return make;
}

/** Reads the tool names of `allowed-tools`, without patterns: `Read Bash(git diff:*)` has `Read` and `Bash`. */
export function readToolNames(allowed: unknown): ReadonlySet<string> {
	const names = removePatterns(toAllowedText(allowed) ?? '').split(/[\s,]/);
	return new Set(names.filter((name) => name !== ''));
}

/** Converts `allowed-tools` to one text. Returns `undefined` if it is not valid. */
export function toAllowedText(allowed: unknown): string | undefined {
	if (typeof allowed === 'string') return allowed;
	if (!Array.isArray(allowed) || !allowed.every((entry) => typeof entry === 'string')) return undefined;
	return allowed.join(' ');
}

/** Replaces each `(…)` by a space. A parenthesis that is not closed extends to the end of the text. */
export function removePatterns(text: string): string {
	const kept: string[] = [];
	for (let at = 0; at < text.length; ) {
		const open = text.indexOf('(', at);
		kept.push(text.slice(at, open === -1 ? undefined : open));
		const close = open === -1 ? -1 : text.indexOf(')', open);
		if (close === -1) break;
		at = close + 1;
	}
	return kept.join(' ');
}
