"""Stability: do the reports change when image or prompt are attacked?"""
