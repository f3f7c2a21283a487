/** The Worker that `../skills.ts` measures from outside, because a Worker's clock stops while it computes. */
import * as v from 'valibot';
import { demoEmbedding } from '../../../src/core/providers/demo.ts';
import type { SkillStore } from '../../../src/core/skill/kv/layout.ts';
import { kvResolver } from '../../../src/core/skill/kv/resolver.ts';
import { listAdvertised } from '../../../src/core/skill/resolver.ts';

const turn = { messages: [], model: 'demo' };
let reads = 0;
let counted: SkillStore | undefined;

export default {
	async fetch(request: Request, { SKILLS }: { readonly SKILLS: SkillStore }): Promise<Response> {
		const { pathname, searchParams } = new URL(request.url);
		const times = Number(searchParams.get('times'));
		const queries = v.parse(v.array(v.string()), await request.json());
		const embedFn = async (_model: string, texts: readonly string[]) => texts.map(demoEmbedding);
		counted ??= {
			get: (key, type) => {
				reads++;
				return SKILLS.get(key, type);
			},
		};
		reads = 0;
		let system = '';
		let found = 0;
		for (let n = 0; n < times; n++) {
			const resolver = kvResolver(counted, { ...(pathname === '/meaning' && { embedFn }) });
			if (pathname === '/turn') system = await listAdvertised(resolver, turn);
			else found = (await resolver.searchFn?.(queries[n % queries.length] ?? ''))?.length ?? 0;
		}
		return Response.json({ reads, system: system.length, found });
	},
};
