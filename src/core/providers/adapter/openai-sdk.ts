/** The used part of OpenAI's SDK. The first request loads it. The package holds a copy (scripts/pack/copies.ts). */
export { OpenAI } from 'openai/client';
