import * as v from 'valibot';
import { localHeader } from '../../src/net/local.ts';
import { describeModel } from '../../src/playground/words.js';

export interface BannerOptions {
	readonly url: string;
	/** Where the Worker itself is. */
	readonly port: number;
	readonly secret: string;
	readonly hasKeys: boolean;
	readonly isPrivate: boolean;
}

const agentList = v.object({
	agents: v.array(
		v.looseObject({
			name: v.string(),
			model: v.string(),
			models: v.array(v.looseObject({ name: v.string(), ready: v.boolean(), needs: v.exactOptional(v.string()) })),
		}),
	),
});

/** What is shown when the Worker answers: its address, and how to talk to it. */
export async function writeBanner(options: BannerOptions): Promise<string> {
	const { url, hasKeys } = options;
	const chat = url === 'http://127.0.0.1:8787' ? 'npm run chat' : `npm run chat -- --url ${url}`;
	const body = JSON.stringify({ agent: 'assistant', text: 'What is 17 + 25?' });
	const key = hasKeys ? ` -H 'authorization: Bearer '$RUNLET_API_KEY` : '';
	return `
  Runlet is at ${url}
${await findUnready(options)}
  In a terminal   ${chat}
  With curl       curl -N ${url}/v1/sessions -H 'content-type: application/json' -H 'accept: text/event-stream'${key} -d '${body}'
  Stop            Ctrl-C
${describeAccess(options)}`;
}

/** Who is answered. */
function describeAccess({ hasKeys, isPrivate }: BannerOptions): string {
	if (hasKeys) return '\n  Only who has a key of npm run keys is answered: export RUNLET_API_KEY=rl_…\n';
	if (isPrivate) return '\n  Nobody but this machine can reach it, so it asks for no key (npm start -- --keys does).\n';
	return '\n  Others can reach this address, so it answers nobody without an API key: npm start -- --keys\n';
}

/** The default models that cannot answer yet, a line each; what cannot be found out is left out. */
async function findUnready({ port, secret }: BannerOptions): Promise<string> {
	try {
		const response = await fetch(`http://127.0.0.1:${port}/v1/agents`, {
			headers: { [localHeader]: secret },
			signal: AbortSignal.timeout(5_000),
		});
		const { agents } = v.parse(agentList, await response.json());
		const described = new Set(agents.map(describeModel).filter((text) => text.includes('(')));
		return [...described].map((text) => `  ${text}\n`).join('');
	} catch {
		return '';
	}
}
