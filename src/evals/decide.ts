import { toMessageText } from '../core/base/errors.ts';
import { isRecord } from '../core/base/json.ts';
import { askJudge, type JudgeBench } from './ask-judge.ts';
import type { Check, ScorerArgs } from './define.ts';
import { isJudge } from './judge.ts';
import type { Verdict } from './verdict.ts';

/** Asks a function or a judge. Never throws: an error is a verdict, too. `place` names a function without a name. */
export async function decide(check: Check, place: string, args: ScorerArgs, bench: JudgeBench): Promise<Verdict> {
	const name = check.name || place;
	try {
		return isJudge(check) ? await askJudge(check, args, bench) : toVerdict(name, await check(args));
	} catch (error) {
		return { name, score: null, error: toMessageText(error) };
	}
}

/** Reads what a scorer returned. */
function toVerdict(name: string, value: unknown): Verdict {
	if (value === undefined) return { name, score: 1 };
	if (typeof value === 'boolean') return { name, score: value ? 1 : 0 };
	if (!isRecord(value)) return { name, ...readScore(value) };
	const { metadata, name: own, error } = value;
	const about = isRecord(metadata) ? metadata : undefined;
	const reason = about?.rationale ?? about?.reason;
	return {
		name: typeof own === 'string' && own !== '' ? own : name,
		...(error === undefined || error === null ? readScore(value.score) : { score: null, error: toMessageText(error) }),
		...(typeof reason === 'string' && { reason }),
		...(about !== undefined && { metadata: about }),
	};
}

function readScore(score: unknown): Pick<Verdict, 'score' | 'error'> {
	if (score === null || (typeof score === 'number' && score >= 0 && score <= 1)) return { score };
	return { score: null, error: `It gave ${JSON.stringify(score) ?? typeof score}, and no score from 0 to 1.` };
}
