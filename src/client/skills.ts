import { type Http, type SignalOption, toQuery } from './http.ts';
import type { PublishedSkill, SkillPage } from './types.ts';

export type SkillClient = ReturnType<typeof createSkillClient>;

/** What a change of a skill replaces: the version that is meant, or nothing. */
export interface SkillChangeOptions extends SignalOption {
	/** The newest version that is known. A skill that has changed since fails as `precondition_failed`. */
	readonly etag?: string;
}

export interface SkillPageOptions extends SignalOption {
	/** Words to search for: the best skills come first. */
	readonly query?: string;
	readonly cursor?: string;
	readonly limit?: number;
}

/** Creates the methods of `/v1/skills`. They need an API key; changes need one with the scope `admin`. */
export function createSkillClient(http: Http) {
	return {
		/** Lists the published skills by name, or searches them. */
		listSkills({ signal, ...query }: SkillPageOptions = {}): Promise<SkillPage> {
			return http.json(`/v1/skills${toQuery(query)}`, { signal });
		},

		/** Reads a skill as its SKILL.md, with its version. */
		getSkill(name: string, { signal }: SignalOption = {}): Promise<{ markdown: string; etag: string | undefined }> {
			const headers = { accept: 'text/markdown' };
			return http.retry(async () => {
				const { response, silence } = await http.open(toPath(name), { headers, signal });
				try {
					const etag = response.headers.get('etag')?.replace(/^(?:W\/)?"|"$/g, '');
					return { markdown: await response.text(), etag };
				} finally {
					silence.end();
				}
			}, signal);
		},

		/** Publishes a SKILL.md. Without `etag` the skill must be new. */
		putSkill(name: string, markdown: string, { etag, signal }: SkillChangeOptions = {}): Promise<PublishedSkill> {
			const headers = { 'content-type': 'text/markdown', ...toCondition(etag) };
			return http.json(toPath(name), { method: 'PUT', content: markdown, headers, signal });
		},

		/** Removes a skill. */
		deleteSkill(name: string, { signal }: SignalOption = {}): Promise<void> {
			return http.remove(toPath(name), signal);
		},
	};
}

function toCondition(etag: string | undefined): Record<string, string> {
	return etag === undefined ? { 'if-none-match': '*' } : { 'if-match': `"${etag}"` };
}

function toPath(name: string): string {
	return `/v1/skills/${encodeURIComponent(name)}`;
}
