import { createHash } from 'node:crypto';
import { messageOf } from '../src/errors.ts';
import type { Entry } from '../src/skill/kv-index.ts';
import { fromMarkdown, validateMarkdown } from '../src/skill/markdown.ts';
import type { SkillFolder } from './skills-read.ts';

/** Why a skill is not published. `line` counts from 1; `file` is its path below the folder of all skills. */
export interface SkillProblem {
	readonly skill: string;
	readonly file: string;
	readonly message: string;
	readonly line?: number;
}

/** A skill as it is published: its entry in the index, and its text with the files beside it. */
export interface ToPublish {
	readonly entry: Entry & { readonly files?: readonly string[] };
	readonly body: string;
}

/** 25 MiB: https://developers.cloudflare.com/kv/platform/limits/ */
export const maxValueBytes = 25 * 1024 * 1024;

/** The first 128 bits of a text's SHA-256, in hexadecimal. */
export function hashOf(text: string): string {
	return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** What is published of some folders, and why the others are not. Of two skills with one name the second is a problem. */
export function readSkills(folders: readonly SkillFolder[]) {
	const skills = new Map<string, ToPublish & { readonly path: string }>();
	const problems: SkillProblem[] = [];
	for (const folder of folders) {
		const result = toSkill(folder);
		if (Array.isArray(result)) problems.push(...result);
		else {
			const first = skills.get(folder.name);
			if (first === undefined) skills.set(folder.name, { ...result, path: folder.path });
			else problems.push(problemOf(folder, `name "${folder.name}" is the name of ${first.path} already`));
		}
	}
	return { skills: [...skills.values()], problems };
}

function toSkill(folder: SkillFolder): ToPublish | SkillProblem[] {
	const {
		name,
		files: { 'SKILL.md': text, ...files },
	} = folder;
	if (text === undefined) return [problemOf(folder, 'is missing: a folder of skills/ holds one skill')];
	const violations = validateMarkdown(text, { directory: name });
	if (violations.length > 0) return violations.map(({ message, line }) => problemOf(folder, message, line));
	try {
		const { body = '', description, when, modalities, requires, frontMatter } = fromMarkdown(text, { directory: name });
		const paths = Object.keys(files).sort();
		const content = JSON.stringify({
			body,
			...(paths.length > 0 && { files: Object.fromEntries(paths.map((path) => [path, files[path]])) }),
		});
		const bytes = Buffer.byteLength(content);
		if (bytes > maxValueBytes) {
			const message = `and the files beside it have ${bytes} bytes: an entry of KV holds ${maxValueBytes}`;
			return [problemOf(folder, message)];
		}
		const allowed = frontMatter?.['allowed-tools'];
		const about = {
			...(when && { when: [...when] }),
			...(modalities && { modalities: [...modalities] }),
			...(requires && { requires: [...requires] }),
			...(typeof allowed === 'string' && { 'allowed-tools': allowed }),
		};
		const entry = { name, description, ...about, hash: hashOf(content), ...(paths.length > 0 && { files: paths }) };
		return { entry, body: content };
	} catch (error) {
		return [problemOf(folder, messageOf(error))];
	}
}

function problemOf({ name, path }: SkillFolder, message: string, line?: number): SkillProblem {
	return { skill: name, file: `${path}/SKILL.md`, message, ...(line !== undefined && { line }) };
}
