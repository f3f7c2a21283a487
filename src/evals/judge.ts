import { isRecord } from '../core/base/json.ts';

/** The options of a judge. */
export interface JudgeOptions {
	/** What a good answer is. */
	readonly rubric: string;
	readonly model: string;
	/** The most that all its scores in an eval may cost, in US dollars. The default is no limit. */
	readonly budgetUsd?: number;
	/** The name of the score. The default is `judge`. */
	readonly name?: string;
	/** The most tokens of an answer, with its thinking. The default is 1,024. */
	readonly maxOutputTokens?: number;
}

/** A model that scores answers by a rubric. */
export type Judge = Required<Pick<JudgeOptions, 'name' | 'maxOutputTokens'>> & JudgeOptions;

/** Makes a judge: a model that scores the answer from 0 to 1 by a rubric, and gives its reason. */
export function judge(options: JudgeOptions): Judge {
	return { name: 'judge', maxOutputTokens: 1_024, ...options };
}

export function isJudge(check: unknown): check is Judge {
	return isRecord(check) && typeof check.rubric === 'string' && typeof check.model === 'string';
}
