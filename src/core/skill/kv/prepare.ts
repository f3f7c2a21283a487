import { toAllowedText } from '../allowed-tools.ts';
import { fromMarkdown } from '../markdown.ts';
import { hashContent } from './content-hash.ts';
import type { Entry } from './layout.ts';

/** A skill ready to be published: its entry in the index, and the value with its text and files. */
export interface PreparedSkill {
	readonly entry: Entry;
	readonly body: string;
}

export interface PrepareOptions {
	/** Texts beside SKILL.md by their path. */
	readonly files?: Readonly<Record<string, string>>;
	/** Whether license, compatibility and the like go along, so that the SKILL.md can be written back. */
	readonly keepsFrontMatter?: boolean;
}

/** Prepares the skill of a valid SKILL.md. Throws when it cannot be read. */
export function prepareSkill(
	name: string,
	markdown: string,
	{ files = {}, keepsFrontMatter = false }: PrepareOptions = {},
): PreparedSkill {
	const {
		body = '',
		description,
		when,
		modalities,
		requires,
		frontMatter,
	} = fromMarkdown(markdown, {
		directory: name,
	});
	const paths = Object.keys(files).sort();
	const content = JSON.stringify({
		body,
		files: paths.length > 0 ? Object.fromEntries(paths.map((path) => [path, files[path]])) : undefined,
		frontMatter: keepsFrontMatter ? frontMatter : undefined,
	});
	const allowed = toAllowedText(frontMatter?.['allowed-tools']);
	const entry: Entry = {
		name,
		description,
		...(when && { when: [...when] }),
		...(modalities && { modalities: [...modalities] }),
		...(requires && { requires: [...requires] }),
		...(allowed !== undefined && { 'allowed-tools': allowed }),
		hash: hashContent(content),
		...(paths.length > 0 && { files: paths }),
	};
	return { entry, body: content };
}

/** The entity tag of a published skill: a hash of its entry with the whole description. The paths of files are in `hash`. */
export function toEtag({ files: _, ...entry }: Entry): string {
	return hashContent(JSON.stringify(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1))));
}
