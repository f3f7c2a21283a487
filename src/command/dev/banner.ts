import * as v from 'valibot';
import { localHeader } from '../../cloudflare/auth/local.ts';
import { defaultBudgets } from '../../cloudflare/wire/budget.ts';
import { toMessageText } from '../../core/base/errors.ts';
import { budgetLine, limitSchema } from '../budget-line.ts';
import { describeLost } from '../options.ts';
import { toCommand } from '../project.ts';

export interface BannerOptions {
	/** The address of Runlet, with its base path. */
	readonly url: string;
	readonly basePath: string;
	/** The port of the Worker itself, behind the proxy. */
	readonly port: number;
	readonly secret: string;
	readonly hasKeys: boolean;
	readonly isPrivate: boolean;
}

const agentList = v.object({
	agents: v.array(
		v.looseObject({
			name: v.string(),
			examples: v.optional(v.array(v.string()), []),
		}),
	),
});

/** Returns the banner: the address of the Worker, and how to talk to it. */
export async function writeBanner(options: BannerOptions, { agents, asksForAccount }: Inspection): Promise<string> {
	const { url, hasKeys } = options;
	const chat = toCommand('chat', url === 'http://127.0.0.1:8787' ? '' : `--url ${url}`);
	const [
		{
			name: agent,
			examples: [text = 'Hello'],
		} = { name: 'NAME', examples: [] },
	] = agents;
	const body = JSON.stringify({ agent, text }).replaceAll("'", "'\\''");
	const key = hasKeys ? ` -H 'authorization: Bearer '$RUNLET_API_KEY` : '';
	return `
  Runlet is at ${url}

  In a terminal   ${chat}
  With curl       curl -N ${url}/v1/sessions -H 'content-type: application/json' -H 'accept: text/event-stream'${key} -d '${body}'
  Stop            Ctrl-C
${await describeBudgets(options)}${describeAccess(options, asksForAccount)}`;
}

/** Describes who can call the Worker. */
function describeAccess({ hasKeys, isPrivate }: BannerOptions, asksForAccount: boolean): string {
	if (hasKeys) return `\n  Only who has a key of ${toCommand('keys')} is answered: export RUNLET_API_KEY=rl_…\n`;
	if (isPrivate && asksForAccount)
		return '\n  Nobody but this machine can reach it. Requests sign in as authenticate of createRunlet wants it.\n';
	if (isPrivate)
		return `\n  Nobody but this machine can reach it, so it asks for no key (${toCommand('dev', '--keys')} does).\n`;
	return `\n  Others can reach this address, so it answers nobody without an API key: ${toCommand('dev', '--keys')}\n`;
}

const budgets = v.looseObject({ budgets: v.object({ session: limitSchema, day: limitSchema }) });

/** Describes the Worker's budgets, or the default budgets if the Worker does not show its own without a key. */
async function describeBudgets({ port, secret, basePath }: BannerOptions): Promise<string> {
	try {
		const response = await fetch(`http://127.0.0.1:${port}${basePath}/v1/usage?days=1`, {
			headers: { [localHeader]: secret },
			signal: AbortSignal.timeout(5_000),
		});
		const { session, day } = v.parse(budgets, await response.json()).budgets;
		return `\n  ${budgetLine(session, day)}\n`;
	} catch {
		return `\n  ${budgetLine(defaultBudgets.session, defaultBudgets.day)}, unless wrangler.toml says else\n`;
	}
}

const problemList = v.looseObject({
	problems: v.array(v.object({ where: v.string(), message: v.string(), unset: v.exactOptional(v.string()) })),
});
const failure = v.looseObject({ error: v.looseObject({ message: v.string() }) });

/** The state of the Worker. */
export interface Inspection {
	/** Whether the Worker asks for an account of the project, which `authenticate` of `createRunlet` recognises. */
	readonly asksForAccount: boolean;
	/** Whether the Worker lists its agents, or would list them for a caller with a key. */
	readonly answers: boolean;
	readonly agents: v.InferOutput<typeof agentList>['agents'];
	/** The problems, one line each. */
	readonly problems: readonly string[];
}

/** Asks a running Worker for its state. */
export async function inspect({
	port,
	secret,
	basePath,
}: Pick<BannerOptions, 'port' | 'secret' | 'basePath'>): Promise<Inspection> {
	const ask = async (path: string) => {
		const response = await fetch(`http://127.0.0.1:${port}${basePath}${path}`, {
			headers: { [localHeader]: secret },
			signal: AbortSignal.timeout(20_000),
		});
		const body: unknown = await response.json().catch(() => undefined);
		return { status: response.status, body };
	};
	try {
		const [{ body: health }, { status, body }] = [await ask('/healthz?deep'), await ask('/v1/agents')];
		const listed = v.safeParse(agentList, body);
		const why = v.is(failure, body)
			? body.error.message
			: `GET ${basePath}/v1/agents answers ${status}. ${describeLost(basePath)}`;
		const answers = listed.success || status === 401 || why.startsWith('API_KEYS: not set');
		const found = v.is(problemList, health) ? health.problems : [];
		const problems = found.map(({ where, message }) => `${where}: ${message}`);
		return {
			answers,
			asksForAccount: status === 401,
			agents: listed.success ? listed.output.agents : [],
			problems: problems.length === 0 && !answers ? [why] : problems,
		};
	} catch (error) {
		return {
			answers: false,
			asksForAccount: false,
			agents: [],
			problems: [`The Worker does not answer: ${toMessageText(error)}`],
		};
	}
}
