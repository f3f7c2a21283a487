import * as v from 'valibot';
import { toAllowedText } from './allowed-tools.ts';
import { hashContent } from './content-hash.ts';
import { type Entry, entrySchema } from './kv-index.ts';
import { fromMarkdown } from './markdown.ts';

/** A skill as it is published: its entry in the index, and its text with the files beside it. */
export interface ToPublish {
	readonly entry: PublishedEntry;
	readonly body: string;
}

/** An entry with the paths of the skill's files. */
export type PublishedEntry = Entry & { readonly files?: readonly string[] };

export interface PublishOptions {
	/** Texts beside SKILL.md by their path. */
	readonly files?: Readonly<Record<string, string>>;
	/** Whether license, compatibility and the like go along, so that the SKILL.md can be written back. */
	readonly keepsFrontMatter?: boolean;
}

/** 25 MiB: https://developers.cloudflare.com/kv/platform/limits/ */
export const maxValueBytes = 25 * 1024 * 1024;

/** Bytes of a text in UTF-8. */
export function countBytes(text: string): number {
	return new TextEncoder().encode(text).byteLength;
}

/** The skill of a valid SKILL.md. Throws where it cannot be read. */
export function toPublish(
	name: string,
	markdown: string,
	{ files = {}, keepsFrontMatter = false }: PublishOptions = {},
): ToPublish {
	const skill = fromMarkdown(markdown, { directory: name });
	const { body = '', description, when, modalities, requires, frontMatter } = skill;
	const paths = Object.keys(files).sort();
	const content = JSON.stringify({
		body,
		...(paths.length > 0 && { files: Object.fromEntries(paths.map((path) => [path, files[path]])) }),
		...(keepsFrontMatter && frontMatter && { frontMatter }),
	});
	const allowed = toAllowedText(frontMatter?.['allowed-tools']);
	const about = {
		...(when && { when: [...when] }),
		...(modalities && { modalities: [...modalities] }),
		...(requires && { requires: [...requires] }),
		...(allowed !== undefined && { 'allowed-tools': allowed }),
	};
	const entry = { name, description, ...about, hash: hashContent(content), ...(paths.length > 0 && { files: paths }) };
	return { entry, body: content };
}

/** A hash of all that is published of a skill; its description has to be the whole one. */
export function toEtag(entry: Entry): string {
	return hashContent(JSON.stringify(Object.entries(v.parse(entrySchema, entry)).sort(([a], [b]) => (a < b ? -1 : 1))));
}
